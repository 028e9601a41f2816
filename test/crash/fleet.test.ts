/** A fleet whose runtime is killed: it goes on with what was not finished, and every todo comes to its end once. */
import { expect, test } from "vitest";
import type { LawEvent } from "../laws/law-event.ts";
import { promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

const TODOS = 200;
const HALF = 100;

/** Each todo waits for two earlier ones; the one in the middle waits for the test. */
function graph() {
  const todos = Array.from({ length: TODOS }, (_, index) => ({
    id: `todo-${index}`,
    title: `Number ${index}`,
    description: promptOf({
      turns: [
        { moves: [{ call: "list_agents" }] },
        ...(index === HALF ? [{ gate: "half", moves: [{ call: "list_agents" }] }] : []),
      ],
      says: `did ${index}`,
    }),
  }));
  const deps = todos.flatMap(({ id }, index) =>
    [7, 12].flatMap((back) => (index >= back ? [{ todoId: id, dependsOn: `todo-${index - back}` }] : [])),
  );
  return { todos, deps };
}

interface Report {
  fleetId: string;
  status: string;
  results: { todoId: string; status: string; text?: string; attempts: number }[];
}

test("a fleet of two hundred todos is killed half way and finishes, every todo run to its end once", async () => {
  await using crashable = await Crashable.start();
  const first = await crashable.connect({ attached: "nobody" });
  const sessionId = await first.create(crashable.session);
  await first.call("session.fleet.start", { sessionId, ...graph(), maxConcurrent: 8 });
  await crashable.gates.reached("half");
  const before = await first.call<Report>("session.fleet.read", { sessionId });
  const doneBefore = before.results.filter(({ status }) => status === "done").length;
  await crashable.kill();
  expect(doneBefore).toBeGreaterThan(20);
  expect(doneBefore).toBeLessThan(TODOS - 20);
  crashable.gates.open("half");
  await crashable.launch();
  const second = await crashable.connect({ attached: "nobody" });
  await second.resume(sessionId, crashable.session);
  await second.until("session.idle");
  const report = await second.call<Report>("session.fleet.read", { sessionId });
  expect(report).toMatchObject({ fleetId: before.fleetId, status: "completed" });
  expect(report.results.filter(({ status, attempts }) => status !== "done" || attempts !== 1)).toEqual([]);
  expect(report.results.every(({ todoId, text }) => text === `did ${todoId.slice("todo-".length)}`)).toBe(true);
  const { events } = await second.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  const lives = new Map<string, string>();
  for (const { type, agentId = "", data } of events)
    if (/^subagent\.(started|completed|failed)$/.test(type)) {
      const name = data.pathNames?.join("/") ?? lives.get(agentId)?.split(" ")[0] ?? agentId;
      lives.set(agentId, `${lives.get(agentId) ?? name} ${type.slice("subagent.".length)}`);
    }
  const whole = [...lives.values()].sort();
  const expected = ["fleet", ...graph().todos.map(({ id }) => `fleet/${id}`)].map(
    (name) => `${name} started completed`,
  );
  expect(whole).toEqual(expected.sort());
  const notices = events.filter(({ type }) => type === "system.notification");
  expect(notices).toHaveLength(1);
});
