/**
 * Ids of sub-agents: what their work is called, and a few characters that make it unique. Models and people have to carry them.
 *
 * An agent's id is that of its session, so it must be free in the whole store.
 */

const MAX_SLUG = 40;
/** With these many random characters, two processes do not take the same id between the look and the commit. */
const TAIL = 6;

export interface AgentIdOptions {
  newId(): string;
  isTaken(id: string): Promise<boolean>;
}

export async function newAgentId(name: string, { newId, isTaken }: AgentIdOptions): Promise<string> {
  const slug = slugOf(name);
  for (let tries = 0; tries < 3; tries++) {
    const id = `${slug}-${newId().replaceAll("-", "").slice(-TAIL)}`;
    if (!(await isTaken(id))) return id;
  }
  return `${slug}-${newId()}`;
}

/** Letters, digits and dashes. Accents are left off; a name in another script gives a general word. */
function slugOf(name: string): string {
  const plain = name
    .slice(0, 200)
    .normalize("NFKD")
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "-");
  const short = plain.replace(/^-/, "").slice(0, MAX_SLUG).replace(/-$/, "");
  return short === "" ? "agent" : short;
}
