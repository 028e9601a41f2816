/** Every command that has a name, in the order of the help. */
import { agents } from "./agents.ts";
import { board } from "./board.ts";
import type { Command, Group } from "./command.ts";
import { connect, disconnect } from "./connections.ts";
import { daemon } from "./daemon.ts";
import { hook } from "./hook.ts";
import { hooks } from "./hooks.ts";
import { demo, doctor, why } from "./inspection.ts";
import { mcp } from "./mcp.ts";
import { checkpoint, op, search, transcript } from "./memory.ts";
import { permissions } from "./permissions.ts";
import { plugins } from "./plugins.ts";
import { serve } from "./serve.ts";
import { sessions } from "./sessions.ts";
import { completionOf, config, init, models, update } from "./setup.ts";
import { tasks } from "./tasks.ts";
import { trust } from "./trust.ts";

export const COMMANDS: readonly (Command | Group)[] = [
  init,
  models,
  config,
  serve,
  search,
  transcript,
  checkpoint,
  sessions,
  tasks,
  board,
  agents,
  trust,
  permissions,
  hooks,
  plugins,
  doctor,
  why,
  demo,
  connect,
  disconnect,
  daemon,
  mcp,
  hook,
  op,
  completionOf(() => COMMANDS),
  update,
];
