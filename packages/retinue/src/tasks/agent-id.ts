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

/** More than start at the same moment. */
const MANY = 1000;

/** Gives every name an id of its own. The agents of one turn start together, before any of them is stored. */
export function agentIds(options: AgentIdOptions): (name: string) => Promise<string> {
  const given = new Set<string>();
  const isTaken = async (id: string) => given.has(id) || (await options.isTaken(id));
  return async (name) => {
    const id = await newAgentId(name, { newId: options.newId, isTaken });
    given.add(id);
    const [oldest] = given;
    if (oldest !== undefined && given.size > MANY) given.delete(oldest);
    return id;
  };
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
