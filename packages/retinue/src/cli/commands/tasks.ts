/** `retinue tasks`: background work of this home. */
import { wholeNumber } from "./checked-values.ts";
import { command } from "./command.ts";
import { home, json } from "./shared-fields.ts";
import { flag, otherwise } from "./values.ts";

export const tasks = command({
  name: "tasks",
  summary:
    "background work of all sessions, running first: agents, shells, tasks of servers, consolidations of closed sessions",
  fields: {
    all: { term: "--all", about: "all of it", is: flag },
    limit: {
      term: "--limit <n>",
      about: "at most this many (default: 20)",
      is: otherwise(20, wholeNumber({ from: 1 })),
    },
    json,
    home,
  },
  examples: ["retinue tasks", "retinue tasks --all --json"],
  async run(input, context) {
    const { listTasks } = await import("../tasks.ts");
    await listTasks(input, context);
  },
});
