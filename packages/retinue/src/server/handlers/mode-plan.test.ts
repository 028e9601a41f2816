import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("the mode is a bare word, and changing it is an event", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    expect(await client.call("session.mode.get", { sessionId })).toBe("interactive");
    const set = await client.call("session.mode.set", { sessionId, mode: "plan" });
    expect(set).toEqual({ status: "unchanged", modelChanged: false, modeApplied: true });
    expect(client.of("session.mode_changed")).toEqual([{ previousMode: "interactive", newMode: "plan" }]);
    const refused = await client.call("session.mode.set", {
      sessionId,
      mode: "autopilot",
      expectedMode: "interactive",
    });
    expect(refused).toMatchObject({ modeApplied: false });
    expect(await client.call("session.mode.get", { sessionId })).toBe("plan");
  });
});

test("the plan is a file of the session, and each change of it is an event", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    expect(await client.call("session.plan.read", { sessionId })).toMatchObject({ exists: false, content: null });
    await client.call("session.plan.update", { sessionId, content: "# One" });
    await client.call("session.plan.update", { sessionId, content: "# Two" });
    expect(await client.call("session.plan.read", { sessionId })).toMatchObject({ exists: true, content: "# Two" });
    await client.call("session.plan.delete", { sessionId });
    await client.call("session.plan.delete", { sessionId });
    expect(client.of("session.plan_changed").map(({ operation }) => operation)).toEqual(["create", "update", "delete"]);
  });
});

test("todos that the model wrote are read with their dependencies", async () => {
  const query =
    "INSERT INTO todos (id, title) VALUES ('a', 'Do A'), ('b', 'Do B'); INSERT INTO todo_deps VALUES ('b', 'a')";
  await inSmallWorld(
    [[call("sql", { description: "todos", query })], [say("noted")]],
    async ({ client, create, send }) => {
      const sessionId = await create();
      expect(await client.call("session.plan.readSqlTodos", { sessionId })).toEqual({ rows: [] });
      await send(sessionId, "plan it");
      const { rows, dependencies } = await client.call("session.plan.readSqlTodosWithDependencies", { sessionId });
      expect(rows.map(({ id, title, description, status }) => [id, title, description, status])).toEqual([
        ["a", "Do A", null, "pending"],
        ["b", "Do B", null, "pending"],
      ]);
      expect(dependencies).toEqual([{ todoId: "b", dependsOn: "a" }]);
    },
  );
});
