/** OpenCode: one plugin file in its configuration folder. It needs no change to the user's settings and no trust. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Connector, ConnectorContext, FileChange } from "./connector.ts";
import { readIfThere } from "./connector.ts";
import { opencodePlugin } from "./opencode-plugin.ts";

const folder = ({ env }: ConnectorContext) =>
  env.OPENCODE_CONFIG_DIR ?? join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), ".config"), "opencode");
const pluginFile = (context: ConnectorContext) => join(folder(context), "plugins", "retinue.js");

export const opencode: Connector = {
  name: "opencode",
  folder,
  transcripts: () => [],
  connect: (context) => [plugin(context, opencodePlugin(context))],
  disconnect: (context) => [plugin(context, undefined)],
  async check(context) {
    const text = readIfThere(pluginFile(context));
    const isCurrent = text === opencodePlugin(context);
    const detail =
      text === undefined
        ? "not installed"
        : isCurrent
          ? "plugin retinue.js"
          : "the plugin is of another version; connect again";
    return [
      { what: "hooks", ok: isCurrent, detail },
      {
        what: "search",
        ok: text !== undefined,
        detail: text === undefined ? "not installed" : "tool retinue_session_search, offered by the plugin",
      },
      { what: "trust", ok: true, detail: "plugins need none" },
    ];
  },
};

const plugin = (context: ConnectorContext, after: string | undefined): FileChange => {
  const path = pluginFile(context);
  return { path, before: readIfThere(path), after };
};
