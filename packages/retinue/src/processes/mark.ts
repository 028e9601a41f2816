/**
 * The mark: a variable that every process which is started for an agent or as an MCP server gets, and that its own children inherit.
 *
 * It says nothing and opens nothing; it only tells whose process this is, also when the process has left its group and its parents have
 * ended. A runtime that runs inside a shell of another runtime adds its mark to that one's, so that both find what they started.
 */
import { randomBytes } from "node:crypto";

export const MARK_VARIABLE = "RETINUE_STARTED_BY";

/** Runtimes inside runtimes; what is further out is dropped. */
const MAX_MARKS = 16;

export const newMark = (): string => randomBytes(12).toString("hex");

/** The mark of one member of a family, which its family's mark stands for as well. */
export const memberMark = (family: string, member: number): string => `${family}.${member}`;

/** The environment with this mark added to those that this process was started with. */
export function withMark(env: NodeJS.ProcessEnv, mark: string): NodeJS.ProcessEnv {
  const marks = [...outerMarks(), mark].slice(-MAX_MARKS);
  return { ...env, [MARK_VARIABLE]: marks.join(",") };
}

/** For a process that is meant to stay, whoever starts it. */
export function withoutMarks({ [MARK_VARIABLE]: _marks, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env;
}

export function hasMark(environment: readonly string[], marks: ReadonlySet<string>): boolean {
  const own = environment.find((each) => each.startsWith(`${MARK_VARIABLE}=`));
  if (own === undefined) return false;
  const values = own.slice(MARK_VARIABLE.length + 1).split(",");
  return values.some((value) => marks.has(value) || marks.has(value.slice(0, value.indexOf("."))));
}

function outerMarks(): string[] {
  return (process.env[MARK_VARIABLE] ?? "").split(",").filter(Boolean);
}
