/** Fleets as a program of the official SDK starts and sees them: `session.rpc.fleet.start`, the command, and an approved plan. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, call, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const PLAN = call("sql", {
  query:
    "INSERT INTO todos (id, title, description) VALUES ('walls', 'Walls', 'Build the walls.'), ('roof', 'Roof', 'Put the roof on.'); INSERT INTO todo_deps VALUES ('roof', 'walls')",
});

/** The main agent takes the turns in order; each agent answers with the name of its todo. */
function answering(...turns: Answer[]): (request: ModelRequest) => Answer {
  const left = [...turns];
  return (request) => {
    const todo = /Yours is the todo `(\w+)`/.exec(request.texts("user")[0] ?? "")?.[1];
    return todo === undefined ? (left.shift() ?? say("nothing left to say")) : say(`the ${todo} stand`);
  };
}

test("a fleet that the program starts plans, works and answers before the call that waits for it returns", async () => {
  await using talk = await openTalk(world);
  talk.model.reply(answering(PLAN, say("planned"), say("the house is finished")));
  const { started } = await talk.session.rpc.fleet.start({ prompt: "build a house", wait: true });
  expect(started).toBe(true);
  const { rows } = await talk.session.rpc.plan.readSqlTodosWithDependencies();
  expect(rows.map(({ id, status }) => [id, status])).toEqual([
    ["walls", "done"],
    ["roof", "done"],
  ]);
  const { tasks } = await talk.session.rpc.tasks.list();
  const agents = tasks.filter((task) => task.type === "agent").map(({ agentType, status }) => [agentType, status]);
  expect(agents.sort()).toEqual([
    ["fleet", "completed"],
    ["general-purpose", "completed"],
    ["general-purpose", "completed"],
  ]);
  const said = talk.record.all("assistant.message").filter(({ agentId }) => agentId === undefined);
  expect(said.at(-1)?.data.content).toBe("the house is finished");
});

test("the command fleet does the same, and sendAndWait of a later prompt waits for its end", async () => {
  await using talk = await openTalk(world);
  talk.model.reply(answering(PLAN, say("planned"), say("the house is finished"), say("yes, it is")));
  await talk.session.rpc.commands.invoke({ name: "fleet", input: "build a house" });
  await talk.record.until("session.idle");
  expect(await talk.ask("is it finished?")).toBe("yes, it is");
});

test("the plan action autopilot_fleet starts a fleet for the plan that was approved", async () => {
  await using talk = await openTalk(world, {
    onExitPlanModeRequest: () => ({ approved: true, selectedAction: "autopilot_fleet" }),
  });
  await talk.session.rpc.mode.set({ mode: "plan" });
  const exit = call("exit_plan_mode", { summary: "- a house", recommendedAction: "autopilot_fleet", showFleet: true });
  const complete = call("task_complete", { summary: "the house is finished" });
  talk.model.reply(answering(exit, PLAN, say("planned"), complete, say("bye")));
  await talk.ask("plan a house");
  const { rows } = await talk.session.rpc.plan.readSqlTodosWithDependencies();
  expect(rows.map(({ status }) => status)).toEqual(["done", "done"]);
  expect(talk.record.all("session.task_complete")).toHaveLength(1);
});
