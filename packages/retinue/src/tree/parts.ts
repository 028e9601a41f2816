/** What all agents of one session tree share. Functions take only the parts that they need. */

import type { AskBroker } from "../asks/broker.ts";
import type { FileHooks } from "../hooks/file-hooks.ts";
import type { Hooks } from "../hooks/hooks.ts";
import type { Environment } from "../loop/prompt.ts";
import type { Limiter } from "../loop/slot.ts";
import type { Rules } from "../permissions/rules.ts";
import type { SessionPlugins } from "../plugins/session-plugins.ts";
import type { ProjectGate } from "../project/gate.ts";
import type { Session } from "../session/session.ts";
import type { CallServices } from "../tools/tool.ts";
import type { Configuration } from "./configuration.ts";
import type { GateCommands } from "./gate-checks.ts";
import type { Participants } from "./participants.ts";
import type { SamplingRuns } from "./sampling-runs.ts";
import type { ServerSignIns } from "./server-sign-ins.ts";
import type { TreeServers } from "./servers.ts";
import type { Toolbox } from "./toolbox.ts";
import type { Transcript } from "./transcript.ts";
import type { Usage } from "./usage.ts";

export interface TreeParts {
  readonly root: Session;
  /** Whether files of the project count. */
  readonly gate: ProjectGate;
  readonly configuration: Configuration;
  /** Stays the same while the session works in one folder. */
  readonly environment: () => Promise<Environment>;
  /** The context board for the system prompt, where there is something on it. Stays the same for as long as the conversation does. */
  readonly board: () => Promise<string | undefined>;
  /** Why the session cannot be consolidated into its board now; undefined when it can. */
  readonly mayNotConsolidate: () => Promise<string | undefined>;
  readonly participants: Participants;
  readonly asks: AskBroker;
  readonly hooks: Hooks;
  /** Those of the hooks that files name. */
  readonly fileHooks: FileHooks;
  readonly plugins: SessionPlugins;
  readonly rules: Rules;
  readonly servers: TreeServers;
  readonly signIns: ServerSignIns;
  readonly sampling: SamplingRuns;
  readonly toolbox: Toolbox;
  readonly limiter: Limiter;
  readonly transcript: Transcript;
  readonly usage: Usage;
  /** Runs the commands of gates. */
  readonly gateCommands: GateCommands;
  /** The services that calls of all agents share. */
  readonly services: Required<Pick<CallServices, "fetchPage" | "database">>;
}
