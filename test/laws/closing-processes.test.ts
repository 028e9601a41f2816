/** What an agent has started is gone when the call that ends it, or that ends its session, is answered: also when both come at once. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { processesWith } from "./checker.ts";
import type { LawClient } from "./law-client.ts";
import { type Plan, promptOf } from "./plan.ts";
import { World } from "./world.ts";

/** An agent that has answered, and that has left a process behind which has gone its own way and does not end when it is asked to. */
async function withStubbornProcess(world: World, mark: string): Promise<{ client: LawClient; sessionId: string }> {
  const client = world.connect({ attached: "sdk" });
  const sessionId = await world.createSession(client);
  const stubborn = `trap '' TERM; setsid bash -c 'touch ready; exec -a ${mark} sleep 300' >/dev/null 2>&1 &`;
  const worker: Plan = {
    turns: [
      { moves: [{ call: "bash", args: { command: stubborn } }] },
      { moves: [{ call: "bash", args: { command: "until [ -e ready ]; do sleep 0.01; done" } }] },
    ],
    says: "started",
  };
  const plan: Plan = { turns: [{ moves: [{ task: worker, name: "worker" }] }], says: "done" };
  await client.call("session.send", { sessionId, prompt: promptOf(plan) });
  await client.until("session.idle");
  return { client, sessionId };
}

const ENDS = {
  "a cancel": (client: LawClient, sessionId: string, id: string) =>
    client.call("session.tasks.cancel", { sessionId, id }),
  "an abort": (client: LawClient, sessionId: string) => client.call("session.abort", { sessionId }),
};

test.each(Object.entries(ENDS))(
  "a session that is closed during %s is closed when the processes of its agents are gone",
  async (_, end) => {
    const mark = `stubborn-${randomUUID()}`;
    await using world = new World();
    const { client, sessionId } = await withStubbornProcess(world, mark);
    const [agent] = (await client.tasks(sessionId)).filter(({ pathNames }) => pathNames !== undefined);
    expect(processesWith(mark)).toHaveLength(1);
    const ending = end(client, sessionId, agent?.id ?? "");
    await client.call("session.destroy", { sessionId });
    expect(processesWith(mark)).toEqual([]);
    await ending.catch(() => undefined); // The session may be closed before it is answered.
  },
);
