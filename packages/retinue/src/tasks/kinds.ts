/** The kinds of tasks. A new kind has a record (record.ts), an executor (executors/), and a line here; the registry works by traits. */
import type { Executor } from "./executor.ts";
import type { AgentRecord, ClientRecord, FleetRecord, McpTaskRecord, ShellRecord } from "./record.ts";

export interface Executors {
  agent: Executor<AgentRecord>;
  fleet: Executor<FleetRecord>;
  "mcp-task": Executor<McpTaskRecord>;
  shell: Executor<ShellRecord>;
  client: Executor<ClientRecord>;
}
