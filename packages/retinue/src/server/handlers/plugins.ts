/** Plugins of the home folder and of a session, and the hooks that files name. */
import { createHash } from "node:crypto";
import { AppError, messageOf, visible } from "@retinue/protocol";
import { followTrust } from "../../host/project-trust.ts";
import type { InstalledPlugin } from "../../plugins/installed.ts";
import { type Handlers, hosted } from "../handler.ts";

const load = () => import("../../plugins/installed.ts");

export const pluginHandlers: Handlers = {
  "plugins.list": async (_, { sessions }) => {
    const { plugins } = (await load()).installedPlugins(sessions.shared.runtime.home);
    return { plugins: plugins.map(shown) };
  },
  "plugins.install": async ({ source, workingDirectory: cwd = process.cwd() }, { sessions, signal }) => {
    const { installPlugin } = await import("../../plugins/install.ts");
    const done = await installPlugin(source, { home: sessions.shared.runtime.home, cwd, signal });
    if (!done) throw new AppError("internal", "nothing was installed");
    const { plugin } = done;
    return { plugin: shown({ ...plugin, isEnabled: true, source }), skillsInstalled: plugin.skills.length };
  },
  "plugins.uninstall": async ({ name }, { sessions }) => {
    const { removePlugin } = await import("../../plugins/install.ts");
    if (removePlugin(sessions.shared.runtime.home, name)) return;
    throw unknown(name, (await load()).installedPlugins(sessions.shared.runtime.home).plugins);
  },
  "plugins.update": async ({ name }, { sessions, signal }) => {
    const { home } = sessions.shared.runtime;
    const { plugins } = (await load()).installedPlugins(home);
    const found = plugins.find((plugin) => plugin.name === name);
    if (!found) throw unknown(name, plugins);
    return await update(found, { home, signal });
  },
  "plugins.updateAll": async (_, { sessions, signal }) => {
    const { home } = sessions.shared.runtime;
    const results = [];
    for (const plugin of (await load()).installedPlugins(home).plugins) {
      if (plugin.source === undefined) continue;
      const { name } = plugin;
      const done = await update(plugin, { home, signal }).catch((error: unknown) => ({ error: messageOf(error) }));
      results.push({ name, marketplace: "", success: !("error" in done), previousVersion: plugin.version, ...done });
    }
    return { results };
  },
  "plugins.enable": async ({ names }, { sessions }) =>
    (await load()).enablePlugins(sessions.shared.runtime.home, names, true),
  "plugins.disable": async ({ names }, { sessions }) =>
    (await load()).enablePlugins(sessions.shared.runtime.home, names, false),
  "hooks.discover": async ({ projectPaths = [], excludeHostHooks = false }, { sessions }) => {
    const { home, env } = sessions.shared.runtime;
    const { discoverHooks } = await import("../../host/discover-hooks.ts");
    const { documents } = sessions.store;
    return await discoverHooks({ home, userFolder: env.HOME, projectPaths, excludeHostHooks, documents });
  },
  "session.plugins.list": (params, scope) => {
    const { plugins } = hosted(params, scope).tree.plugins.current;
    return {
      plugins: plugins.map(({ name, version, isEnabled }) => ({ name, marketplace: "", version, enabled: isEnabled })),
    };
  },
  "session.plugins.reload": async (params, scope) => {
    const target = hosted(params, scope);
    const { plugins, fileHooks, configuration } = target.tree;
    const { hooks } = plugins.current;
    await plugins.refresh(configuration.current, { isForced: true });
    if (params.reloadHooks !== false)
      await fileHooks.refresh(configuration.current, plugins.current.hooks, { isForced: true });
    else await fileHooks.refresh(configuration.current, hooks);
    await followTrust(target);
    if (params.reloadMcp !== false) target.tree.servers.configured();
  },
};

async function update(plugin: InstalledPlugin, options: { home: string; signal: AbortSignal }) {
  const { updatePlugin } = await import("../../plugins/install.ts");
  const { version: newVersion, skills } = await updatePlugin(plugin, options);
  return { previousVersion: plugin.version, newVersion, skillsInstalled: skills.length };
}

function shown({ name, version, isEnabled, source }: InstalledPlugin) {
  const directSourceId =
    source === undefined ? undefined : createHash("sha256").update(source).digest("hex").slice(0, 16);
  return { name, marketplace: "", version, enabled: isEnabled, directSourceId };
}

function unknown(name: string, plugins: readonly InstalledPlugin[]): AppError {
  const names = plugins.map((plugin) => plugin.name).join(", ");
  return new AppError("invalid_params", visible(`There is no plugin ${name}. There are: ${names || "none"}`));
}
