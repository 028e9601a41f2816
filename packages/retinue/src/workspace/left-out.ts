/** The lines that say what of a project was left out, why, and how to allow it. */
import { visible } from "@retinue/protocol";
import type { ProjectGate } from "../project/gate.ts";
import { isTooWide } from "../project/root.ts";
import { brief, shellWord } from "../project/shown.ts";
import { isEmpty, ownerOf, type ProjectContent } from "./survey.ts";

const MAX_NAMES = 10;
/** Whoever decides is shown all of it. */
const MAX_SERVER = 200;

/** Undefined when nothing is left out. */
export function leftOutLine(content: ProjectContent, gate: ProjectGate): string | undefined {
  if (!gate.isTrusted) return isEmpty(content) ? undefined : untrustedLine(content, gate);
  const { servers, hooks } = unallowed(content, gate);
  return servers.length + hooks.length === 0 ? undefined : unallowedLine({ servers, hooks }, gate);
}

type Programs = Pick<ProjectContent, "servers" | "hooks">;

/** Servers and hooks of a trusted project that nobody has consented to: new ones, and those that have changed. */
export function unallowed({ servers, hooks }: Programs, gate: ProjectGate): Programs {
  return {
    servers: servers.filter(({ identity }) => !gate.mayStart(identity)),
    hooks: hooks.filter(({ identity }) => !gate.mayStart(identity)),
  };
}

function untrustedLine({ agents, skills, commands, servers, hooks }: ProjectContent, gate: ProjectGate): string {
  const parts = [
    ...named("agent", agents),
    ...named("skill", skills),
    ...named("slash command", commands),
    ...named(
      "MCP server",
      servers.map(({ name, line }) => brief(`${name}: ${line}`, MAX_SERVER)),
    ),
    ...named(
      "hook",
      hooks.map(({ line }) => brief(line, MAX_SERVER)),
    ),
  ];
  return `The folder ${visible(gate.root)} is not trusted, so this was left out of it: ${parts.join("; ")}. ${howTo(gate)}`;
}

function unallowedLine({ servers, hooks }: Programs, gate: ProjectGate): string {
  const names = listed([
    ...servers.map((server) => `${brief(server.name)} of ${ownerOf(server)} (${brief(server.line, MAX_SERVER)})`),
    ...hooks.map(({ file, line }) => `${brief(line, MAX_SERVER)} (${file})`),
  ]);
  const what = [...(servers.length > 0 ? ["MCP servers"] : []), ...(hooks.length > 0 ? ["hooks"] : [])].join(" and ");
  return `Nobody has allowed these ${what} of ${visible(gate.root)}, which are new or have changed, so they are not started: ${names}. ${howTo(gate)}`;
}

/** Names the working folder, not the root: what it brings is what is shown and allowed. */
function howTo({ folder, root }: ProjectGate): string {
  if (isTooWide(root))
    return "It holds more than one project and cannot be trusted: work in the folder of the project.";
  return `To look at it and allow it: retinue trust add ${shellWord(folder)} (in a program: session.permissions.folderTrust.addTrusted).`;
}

function named(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`${names.length} ${what}${names.length === 1 ? "" : "s"} (${listed(names)})`];
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return [...names.slice(0, MAX_NAMES), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}
