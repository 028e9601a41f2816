/** Calls about plugins in the home folder and of a session, and about hooks in files. */
import * as z from "zod";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { flag, lazy, strings, text } from "../schema.ts";

const InstalledPluginInfo = lazy(() =>
  z.object({
    name: z.string(),
    /** Always empty: plugins come from where they are, not from a marketplace. */
    marketplace: z.string(),
    directSourceId: text(),
    version: text(),
    enabled: z.boolean(),
  }),
);

const SessionPlugin = lazy(() =>
  z.object({ name: z.string(), marketplace: z.string(), version: text(), enabled: z.boolean() }),
);

const updated = () => ({ previousVersion: text(), newVersion: text(), skillsInstalled: z.number() });

const PluginUpdate = lazy(() =>
  z.object({
    ...updated(),
    skillsInstalled: z.number().optional(),
    name: z.string(),
    marketplace: z.string(),
    success: z.boolean(),
    /** Why it is as it was. */
    error: text(),
  }),
);

const names = lazy(() => z.object({ names: strings(), workingDirectory: text() }));

const DiscoveredHook = lazy(() =>
  z.object({
    id: z.string(),
    hookType: z.string(),
    origin: z.enum(["user", "repository", "plugin", "policy"]),
    source: text(),
    projectPath: text(),
    enabled: z.boolean(),
  }),
);

export const PLUGIN_METHODS = byName(
  method("plugins.list", {
    summary: "Plugins in the home folder.",
    params: () => z.object({}),
    result: () => z.object({ plugins: z.array(InstalledPluginInfo()) }),
  }),
  method("plugins.install", {
    summary: "Installs a plugin from a folder, a tarball, a git repository or an npm package.",
    params: () => z.object({ source: z.string().min(1), workingDirectory: text() }),
    result: () => z.object({ plugin: InstalledPluginInfo(), skillsInstalled: z.number(), postInstallMessage: text() }),
  }),
  method("plugins.uninstall", {
    summary: "Removes a plugin from the home folder.",
    params: () => z.object({ name: z.string().min(1), directSourceId: z.string().nullish() }),
    result: nothing,
  }),
  method("plugins.update", {
    summary: "Installs a plugin again from where it came.",
    params: () => z.object({ name: z.string().min(1) }),
    result: () => z.object(updated()),
  }),
  method("plugins.updateAll", {
    summary: "Installs all plugins again that came from somewhere.",
    params: () => z.object({}),
    result: () => z.object({ results: z.array(PluginUpdate()) }),
  }),
  method("plugins.enable", {
    summary: "Lets plugins count in new sessions.",
    params: names,
    result: nothing,
  }),
  method("plugins.disable", {
    summary: "Leaves plugins out of new sessions.",
    params: names,
    result: nothing,
  }),
  method("session.plugins.list", {
    summary: "Plugins of the session.",
    params: justSession,
    result: () => z.object({ plugins: z.array(SessionPlugin()) }),
  }),
  method("session.plugins.reload", {
    summary: "Reads the plugins of the session again, with their agents, skills, hooks and servers.",
    params: () =>
      ofSession({
        reloadMcp: flag(),
        reloadCustomAgents: flag(),
        reloadHooks: flag(),
        reloadExtensions: flag(),
        deferRepoHooks: flag(),
      }),
    result: nothing,
  }),
  method("hooks.discover", {
    summary: "Hooks that files name.",
    params: () => z.object({ projectPaths: strings().optional(), excludeHostHooks: flag() }),
    result: () => z.object({ hooks: z.array(DiscoveredHook()), warnings: strings(), errors: strings() }),
  }),
);
