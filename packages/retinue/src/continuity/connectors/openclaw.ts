/** OpenClaw: a plugin folder of ours, and three lines in openclaw.json that load it and let it see conversations. */
import { homedir } from "node:os";
import { join } from "node:path";
import { fields } from "../ingest/readers/fields.ts";
import {
  asJson,
  type Connector,
  type ConnectorContext,
  type FileChange,
  readIfThere,
  readSettings,
} from "./connector.ts";
import { OPENCLAW_PLUGIN, openclawPlugin } from "./openclaw-plugin.ts";

const folder = ({ env }: ConnectorContext) => env.OPENCLAW_STATE_DIR ?? join(env.HOME ?? homedir(), ".openclaw");
const settingsFile = (context: ConnectorContext) =>
  context.env.OPENCLAW_CONFIG_PATH ?? join(folder(context), "openclaw.json");
const pluginFolder = ({ home }: ConnectorContext) => join(home, "connectors", "openclaw");

export const openclaw: Connector = {
  name: "openclaw",
  folder,
  transcripts: () => [],
  connect: (context) => [...plugin(context, true), settings(context, true)],
  disconnect: (context) => [settings(context, false), ...plugin(context, false)],
  async check(context) {
    const plugins = fields(readSettings(settingsFile(context)).value.plugins);
    const entry = fields(fields(plugins.entries)[OPENCLAW_PLUGIN]);
    const isLoaded = pathsOf(plugins).includes(pluginFolder(context)) && entry.enabled === true;
    const maySee = fields(entry.hooks).allowConversationAccess === true;
    const isCurrent = plugin(context, true).every(({ before, after }) => before === after);
    const detail = !isLoaded
      ? "not installed"
      : isCurrent
        ? "plugin retinue"
        : "the plugin is of another version; connect again";
    return [
      { what: "hooks", ok: isLoaded && isCurrent, detail },
      { what: "search", ok: isLoaded, detail: isLoaded ? "tool session_search, of the plugin" : "not installed" },
      {
        what: "trust",
        ok: maySee,
        detail: maySee ? "may see conversations" : "allowConversationAccess is off: OpenClaw gives no child its block",
      },
    ];
  },
};

function plugin(context: ConnectorContext, isOn: boolean): FileChange[] {
  return Object.entries(openclawPlugin(context)).map(([name, text]) => {
    const path = join(pluginFolder(context), name);
    return { path, before: readIfThere(path), after: isOn ? text : undefined };
  });
}

const pathsOf = (plugins: Readonly<Record<string, unknown>>): unknown[] => {
  const { paths } = fields(plugins.load);
  return Array.isArray(paths) ? paths : [];
};

function settings(context: ConnectorContext, isOn: boolean): FileChange {
  const path = settingsFile(context);
  const { text: before, value } = readSettings(path);
  if (!isOn && before === undefined) return { path, before, after: before };
  const plugins = fields(value.plugins);
  const others = pathsOf(plugins).filter((each) => each !== pluginFolder(context));
  const { [OPENCLAW_PLUGIN]: _, ...entries } = fields(plugins.entries);
  const ours = { enabled: true, hooks: { allowConversationAccess: true } };
  const load = { ...fields(plugins.load), paths: isOn ? [...others, pluginFolder(context)] : others };
  const { plugins: _plugins, ...rest } = value;
  const joined = withoutEmpty({
    ...plugins,
    load: withoutEmpty(load),
    entries: isOn ? { ...entries, [OPENCLAW_PLUGIN]: ours } : entries,
  });
  const after = withoutEmpty({ ...rest, plugins: joined });
  if (!isOn && !before?.includes(pluginFolder(context))) return { path, before, after: before };
  return { path, before, after: Object.keys(after).length === 0 ? undefined : asJson(after) };
}

const withoutEmpty = (value: object) =>
  Object.fromEntries(
    Object.entries(value).filter(
      ([, each]) => typeof each !== "object" || each === null || Object.keys(each).length > 0,
    ),
  );
