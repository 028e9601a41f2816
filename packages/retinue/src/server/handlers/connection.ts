/** The runtime as a whole: version, credentials, models, tools, commands. The handshake is in ../connection.ts. */
import { AppError } from "@retinue/protocol";
import type { Catalog } from "../../models/catalog.ts";
import { slashCommandInfos } from "../../modes/slash-commands.ts";
import { addKnownValue, MIN_KNOWN_VALUE } from "../../secrets/known-values.ts";
import { listAgentsTool, readAgentTool, writeAgentTool } from "../../tools/builtin/task.ts";
import { builtinTools } from "../../tools/catalog.ts";
import type { Handlers } from "../handler.ts";

const PROTOCOL_VERSION = 3;

export const connectionHandlers: Handlers = {
  "status.get": (_, { sessions }) => ({ version: sessions.shared.runtime.version, protocolVersion: PROTOCOL_VERSION }),
  "auth.getStatus": (_, { sessions }) => {
    const provider = configuredProvider(sessions.shared.catalog);
    if (provider === undefined) return { isAuthenticated: false, statusMessage: "Not authenticated" };
    return {
      isAuthenticated: true,
      authType: "api-key",
      statusMessage: `Models are served by the provider ${provider}`,
    };
  },
  "account.getQuota": (_, { sessions }) => {
    requireProvider(sessions.shared.catalog);
    return { quotaSnapshots: {} };
  },
  "models.list": async (_, { sessions, signal }) => {
    requireProvider(sessions.shared.catalog);
    return { models: await sessions.shared.catalog.list({ signal }) };
  },
  "models.getBuiltInCatalog": () => ({ models: [{ id: "offline" }] }),
  "tools.list": () => {
    const tools = [...builtinTools({ askUser: "legacy" }), readAgentTool, writeAgentTool, listAgentsTool];
    return {
      tools: tools.map(({ name, description, parameters, instructions }) => ({
        name,
        description,
        parameters: { ...parameters },
        ...(instructions ? { instructions } : {}),
      })),
    };
  },
  "commands.list": () => ({ commands: slashCommandInfos() }),
  "secrets.addFilterValues": ({ values }) => {
    const short = values.filter((value) => value !== "" && value.length < MIN_KNOWN_VALUE).length;
    if (short > 0) {
      throw new AppError(
        "invalid_params",
        `${short} of the values have fewer than ${MIN_KNOWN_VALUE} characters. Hiding them would hide parts of ordinary words: register longer ones. None was registered.`,
      );
    }
    for (const value of values) addKnownValue(value);
    return { ok: true };
  },
};

function requireProvider(catalog: Catalog): void {
  if (configuredProvider(catalog) === undefined)
    throw new AppError("not_configured", "Not authenticated. Please authenticate first.");
}

/** The provider of a session that names none; undefined when that is only the offline model. */
function configuredProvider(catalog: Catalog): string | undefined {
  try {
    const { id, provider } = catalog.forSession({}).choose();
    return id === "offline" ? undefined : provider.id;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_configured") return "that still needs a model";
    throw error;
  }
}
