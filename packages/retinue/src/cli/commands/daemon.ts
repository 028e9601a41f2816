/** `retinue daemon …`: the service that connected programs talk to. */
import { continuityContext } from "../continuity-context.ts";
import { untilStopped } from "../interrupts.ts";
import { port as portNumber, wholeNumber } from "./checked-values.ts";
import { command, type Field, type Group } from "./command.ts";
import { home } from "./shared-fields.ts";
import { optional, otherwise } from "./values.ts";

const load = () => import("../../continuity/serve/cli.ts");
const port = {
  term: "--port <n>",
  about: "the port on 127.0.0.1 (default: any free one)",
  is: optional(portNumber),
} satisfies Field;

const start = command({
  name: "start",
  summary: "start the daemon of this home folder, unless it runs",
  fields: { port, home },
  examples: ["retinue daemon start"],
  async run({ port: at, home: given }, context) {
    const { daemonStart } = await load();
    await daemonStart(continuityContext(given, context), { port: at });
  },
});

const stop = command({
  name: "stop",
  summary: "stop the daemon of this home folder",
  fields: { home },
  examples: ["retinue daemon stop"],
  async run({ home: given }, context) {
    const { daemonStop } = await load();
    await daemonStop(continuityContext(given, context));
  },
});

const status = command({
  name: "status",
  summary: "show whether it runs, and where",
  fields: { home },
  examples: ["retinue daemon status"],
  async run({ home: given }, context) {
    const { daemonStatus } = await load();
    await daemonStatus(continuityContext(given, context));
  },
});

const logs = command({
  name: "logs",
  summary: "print the end of its log",
  fields: {
    lines: {
      term: "--lines <n>",
      about: "how many lines (default: 50)",
      is: otherwise(50, wholeNumber({ from: 1 })),
    },
    home,
  },
  examples: ["retinue daemon logs --lines 200"],
  async run({ lines, home: given }, context) {
    const { daemonLogs } = await load();
    await daemonLogs(continuityContext(given, context), { lines });
  },
});

const run = command({
  name: "run",
  summary: "run the daemon in this process until Ctrl-C",
  fields: { port, home },
  examples: ["retinue daemon run --port 4322"],
  async run({ port: at, home: given }, context) {
    const { daemonRun } = await load();
    await daemonRun(continuityContext(given, context), { port: at, signal: untilStopped() });
  },
});

export const daemon: Group = {
  name: "daemon",
  summary: "start, stop and watch the service that other programs talk to",
  more: "One process per home folder serves HTTP on 127.0.0.1. The first hook that finds none starts it.",
  commands: [start, stop, status, logs, run],
  examples: ["retinue daemon start", "retinue daemon logs"],
};
