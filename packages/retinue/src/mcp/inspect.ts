/** Connects to one server, looks at everything that it offers, and leaves it again: for a person who sets it up. */
import { type McpServerConfig, messageOf } from "@retinue/protocol";
import type { ProcessLedger } from "../processes/process-ledger.ts";
import { McpHost, type McpHostOptions } from "./host.ts";
import { listedTasks } from "./tasks/listed-tasks.ts";

/** One thing that a server offers. */
export interface Offered {
  name: string;
  description?: string;
}

export interface Inspection {
  name: string;
  status: "connected" | "failed" | "needs-auth";
  error?: string;
  /** What the server calls itself. */
  server?: { name: string; version: string };
  instructions?: string;
  tools: Offered[];
  resources: Offered[];
  prompts: Offered[];
  /** What the server still works on, or keeps the result of; absent when it does not list that. */
  tasks?: Offered[];
  /** Why there may be more of them. */
  tasksProblem?: string;
}

export interface InspectOptions {
  workingDirectory: string;
  clientVersion: string;
  processes?: ProcessLedger;
  startLimitMs: number;
  signIn?: McpHostOptions["signIn"];
}

/** Somebody sits and waits. */
const LIST_LIMIT = { timeout: 10_000 };

/** Never throws: what goes wrong is the finding, also with the configuration itself. */
export async function inspectServer(
  name: string,
  config: () => McpServerConfig,
  options: InspectOptions,
): Promise<Inspection> {
  const host = new McpHost(options);
  try {
    const use = host.use({ [name]: config() });
    await use.ready();
    const [state] = use.list();
    if (state?.status !== "connected") return failed(name, state?.error, state?.status === "needs-auth");
    return await host.with(name, async (client) => {
      const can = client.getServerCapabilities() ?? {};
      const [{ resources }, { prompts }] = await Promise.all([
        can.resources ? client.listResources({}, LIST_LIMIT).catch(unlisted("resources")) : { resources: [] },
        can.prompts ? client.listPrompts({}, LIST_LIMIT).catch(unlisted("prompts")) : { prompts: [] },
      ]);
      const running = await listedTasks(client);
      return {
        name,
        status: "connected",
        server: client.getServerVersion(),
        instructions: client.getInstructions(),
        tools: (await host.listTools(name)).map(offered),
        resources: resources.map(({ uri, name: title, description }) => ({
          name: uri,
          description: description ?? title,
        })),
        prompts: prompts.map(offered),
        tasks: running?.tasks.map(({ taskId, status, message }) => ({
          name: taskId,
          description: message === undefined ? status : `${status}, ${message}`,
        })),
        tasksProblem: running?.problem,
      };
    });
  } catch (error) {
    return failed(name, messageOf(error), false);
  } finally {
    await host.close();
  }
}

const unlisted = (what: string) => (error: unknown) => {
  throw new Error(`it does not list its ${what}: ${messageOf(error)}`, { cause: error });
};

const offered = ({ name, description }: Offered): Offered => ({ name, description });

function failed(name: string, error = "it did not connect", needsAuth: boolean): Inspection {
  return { name, status: needsAuth ? "needs-auth" : "failed", error, tools: [], resources: [], prompts: [] };
}
