/** Every command that has a name, in the order of the help. */
import type { Command, Group } from "./command.ts";
import { connect, disconnect } from "./connections.ts";
import { daemon } from "./daemon.ts";
import { hook } from "./hook.ts";
import { demo, doctor, why } from "./inspection.ts";
import { checkpoint, mcp, op, search, transcript } from "./memory.ts";
import { serve } from "./serve.ts";
import { sessions } from "./sessions.ts";
import { trust } from "./trust.ts";

export const COMMANDS: readonly (Command | Group)[] = [
  serve,
  search,
  transcript,
  checkpoint,
  sessions,
  trust,
  doctor,
  why,
  demo,
  connect,
  disconnect,
  daemon,
  mcp,
  hook,
  op,
];

export function isGroup(each: Command | Group): each is Group {
  return "commands" in each;
}
