/** Asks the user: one question, or a form. Which of the two a session has is the host's choice. */
import * as z from "zod";
import { defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import questionWords from "./ask-user.md";
import formWords from "./ask-user-form.md";

const TITLE = "Ask the user";

export const askUserTool = (): Tool =>
  defineTool({
    name: "ask_user",
    title: TITLE,
    description: questionWords,
    input: () =>
      z.object({
        question: z.string().describe("The question."),
        choices: z.array(z.string()).optional().describe("Likely answers."),
      }),
    readOnly: true,
    prepare: (question, { services }) => ({
      async run() {
        if (!services.ask)
          return failure("Nobody can be asked in this session. Decide yourself, and say what you assumed.");
        const { answer, wasFreeform } = await services.ask(question);
        return success(`User ${wasFreeform ? "responded" : "selected"}: ${answer}`);
      },
    }),
  });

export const askUserFormTool = (): Tool =>
  defineTool({
    name: "ask_user",
    form: "elicitation",
    title: TITLE,
    description: formWords,
    input: () =>
      z.object({
        message: z.string().describe("The question."),
        requestedSchema: z
          .record(z.string(), z.unknown())
          .describe("JSON Schema of an object, with the fields to fill in."),
      }),
    readOnly: true,
    prepare: (form, { services }) => ({
      async run() {
        if (!services.elicit)
          return failure("Nobody can be asked in this session. Decide yourself, and say what you assumed.");
        const { action, content = {} } = await services.elicit(form);
        if (action === "decline") return success("The user does not want to answer this.");
        if (action === "cancel") return success("The user put the question away without an answer.");
        return formAnswer(content);
      },
    }),
  });

function formAnswer(content: Record<string, unknown>): Outcome {
  const fields = Object.entries(content).map(([name, value]) => [name, shown(value)] as const);
  const list = `User responded:\n${fields.map(([name, value]) => `${name}: ${value}`).join("\n")}`;
  const [only] = fields;
  return fields.length === 1 && only ? success(`User responded: ${only[1]}`, { detail: list }) : success(list);
}

const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
