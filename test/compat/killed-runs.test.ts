/** What a run that was killed has used of its budget, when a client of the official SDK goes on with it. */
import { expect, test } from "vitest";
import { calls, hang, say } from "../support/model-answers.ts";
import { bill, bounded, isChild, priced, tasks } from "../support/priced.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { resumeTalk, type Talk } from "../support/talk.ts";

/** Kills the runtime, and resumes the session in another one. */
async function killed(
  crashing: World,
  { first, config }: { first: Talk; config: object },
): Promise<{ talk: Talk } & AsyncDisposable> {
  await crashing.kill();
  const second = await startClient({ folders: crashing.folders, model: crashing.model });
  const talk = await resumeTalk(second, first.session.sessionId, config, first.model);
  return { talk, [Symbol.asyncDispose]: () => second[Symbol.asyncDispose]() };
}

/** A child that does not answer, and is stopped after two seconds. */
const sleeper = (id: string, more: object = {}) => ({
  ...tasks(1, { budget: { maxSeconds: 2 }, ...more })[0],
  name: "task",
  id,
});

const loops = () => calls([{ name: "list_agents", args: {} }]);

test.runIf(ours).each([true, false])(
  "has spent what the request may cost that was under way; the client names the agent again: %s",
  async (isNamed) => {
    await using crashing = await startClient();
    const first = await priced(crashing, { multiplier: 1 }, { budget: { maxCost: 3 } });
    const { model } = first;
    model.reply(() => hang());
    await first.session.send({ prompt: "go" });
    await model.asked(1);
    model.reply(loops);
    const { agent, customAgents, ...rest } = bounded(model, { multiplier: 1 }, { maxCost: 3 });
    const config = { ...rest, continuePendingWork: true, ...(isNamed ? { agent, customAgents } : {}) };
    await using after = await killed(crashing, { first, config });
    await after.talk.record.until("session.idle");
    expect(model.requests).toHaveLength(3);
    expect(await bill(after.talk)).toMatchObject({ totalNanoAiu: 2e9, unreported: { requests: 1, nanoAiu: 1e9 } });
  },
);

test.runIf(ours)("goes on with the time that it had left", async () => {
  await using crashing = await startClient();
  const first = await priced(crashing, {}, { budget: { maxSeconds: 3 } });
  const { model } = first;
  let turn = 0;
  model.reply((request) => (isChild(request) || turn++ > 0 ? hang() : calls([sleeper("before")])));
  await first.session.send({ prompt: "go" });
  await first.record.until("subagent.failed"); // Two of three seconds are gone.
  await model.asked(3);
  turn = 0;
  model.reply((request) => {
    if (isChild(request)) return hang();
    return turn++ === 0 ? calls([sleeper("after")]) : say("it had all its time again");
  });
  const config = { ...bounded(model, {}, { maxSeconds: 3 }), continuePendingWork: true };
  await using after = await killed(crashing, { first, config });
  await after.talk.record.until("session.idle");
  expect(after.talk.record.one("session.error").data.message).toContain("after 3 s");
  expect(after.talk.record.all("subagent.failed")).toEqual([]); // The one that sleeps had not used up its own two seconds.
});

test.runIf(ours)("goes on with the time that it had left when only agents in the background work", async () => {
  await using crashing = await startClient();
  const first = await priced(crashing, {}, { budget: { maxSeconds: 3 } });
  const { model } = first;
  const background = { mode: "background", budget: {} };
  let turn = 0;
  model.reply((request) => {
    if (isChild(request)) return hang();
    return turn++ === 0 ? calls([sleeper("long", background), sleeper("short")]) : say("I wait for the other one");
  });
  await first.session.send({ prompt: "go" });
  await first.record.until("assistant.idle");
  const config = bounded(model, {}, { maxSeconds: 3 });
  await using after = await killed(crashing, { first, config });
  await after.talk.record.until("session.idle");
  expect(after.talk.record.one("session.error").data.message).toContain("after 3 s");
});

test.runIf(ours)("leaves all of its time to the next run when nothing of it goes on", async () => {
  await using crashing = await startClient();
  const first = await priced(crashing, {}, { budget: { maxSeconds: 3 } });
  const { model } = first;
  let turn = 0;
  model.reply((request) => (isChild(request) || turn++ > 0 ? hang() : calls([sleeper("before")])));
  await first.session.send({ prompt: "go" });
  await first.record.until("subagent.failed");
  await model.asked(3);
  turn = 0;
  model.reply((request) => {
    if (isChild(request)) return hang();
    return turn++ === 0 ? calls([sleeper("after")]) : say("it had all its time again");
  });
  const config = bounded(model, {}, { maxSeconds: 3 });
  await using after = await killed(crashing, { first, config });
  expect(await after.talk.ask("go")).toBe("it had all its time again");
});
