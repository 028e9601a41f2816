/** The key of a session in what was said, by its beginning. Sessions of other agent programs have keys there too. */
import * as z from "zod";
import { type CommandContext, call } from "../continuity/serve/cli.ts";
import { byPrefix } from "./session-id.ts";

const Page = z.object({ sessions: z.array(z.object({ sessionKey: z.string() })) });
const PAGE = 1000;

export async function fullKey(
  context: CommandContext,
  { key, agentId }: { key: string; agentId?: string },
): Promise<string> {
  const keys = new Set<string>();
  for (let offset = 0; ; offset += PAGE) {
    const { sessions } = Page.parse(await call(context, "session_list", { agentId, limit: PAGE, offset }));
    for (const session of sessions) keys.add(session.sessionKey);
    if (sessions.length < PAGE) return byPrefix([...keys], { prefix: key, idOf: (each) => each });
  }
}
