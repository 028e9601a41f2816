/** `/review` and `/security-review`: a prompt for the agent that reviews, on changes that are really there. */
import { AppError, type CommandOutcome } from "@retinue/protocol";
import { gitContext } from "../workspace/git-context.ts";
import { hasChanges, hasDifference } from "../workspace/git-diff.ts";
import { GitFailure } from "../workspace/git-process.ts";
import { type CommandCall, typed } from "./command.ts";

/** `a..b` and `a...b`; either side may be missing. Nothing in it can be taken for an option, or means something to a shell. */
const RANGE = /^(?!-)(?=.*\.\.)[\p{L}\p{N}\p{M}_./@^~{}+#%=-]+$/u;
const OPTION = /^--?[\p{L}\p{N}]/u;

/** `words` have places for what is looked at, and for what the user says about it. */
export function reviewing(name: string, words: string): (call: CommandCall) => Promise<CommandOutcome> {
  return async ({ target, input, signal }) => {
    const [first = "", ...others] = input.split(/\s+/);
    // A person would think that it counts; the words would only reach the model.
    if (OPTION.test(first)) throw new AppError("invalid_params", `/${name} has no options, so ${first} means nothing`);
    const { gitRoot } = await gitContext(target.session.place.workingDirectory); // It may have come since the session began.
    const nothing = (why: string): CommandOutcome => ({ kind: "text", text: `There is nothing to review: ${why}.` });
    if (gitRoot === undefined) return nothing(`${target.session.place.workingDirectory} is in no git repository`);
    const range = RANGE.test(first) ? first : undefined;
    const asked = range ? hasDifference(gitRoot, range, signal) : hasChanges(gitRoot, signal);
    const isThere = await asked.catch((error: unknown) => {
      if (!(error instanceof GitFailure)) throw error;
      throw new AppError(
        "invalid_params",
        `/${name} needs git to say what has changed, and git says: ${error.message}`,
      );
    });
    if (isThere === undefined) return nothing(`git does not know the range ${range}`);
    if (!isThere && range) return nothing(`${range} changes no file`);
    if (!isThere)
      return nothing(`nothing has changed since the last commit. A range can be named: /${name} main..HEAD`);
    const focus = range ? others.join(" ") : input;
    const parts = {
      "{{what}}": range
        ? `the changes of \`git diff ${range}\``
        : "the changes that are not committed yet, new files included",
      "{{request}}": focus === "" ? "" : `. Look especially at: ${focus}`,
    };
    const prompt = words.trim().replace(/\{\{\w+\}\}/g, (part) => parts[part as keyof typeof parts] ?? part);
    return { kind: "agent-prompt", prompt, displayPrompt: typed(name, input) };
  };
}
