import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

const viewing = (path: string) => [[call("view", { path })], [say("seen")]];

test("allow-all asks nobody and is an event; approving all keeps the mode", async () => {
  await inSmallWorld([...viewing("a.txt"), ...viewing("a.txt")], async ({ client, create, send, folder }) => {
    writeFileSync(join(folder, "a.txt"), "alpha");
    const sessionId = await create();
    expect(await client.call("session.permissions.setMode", { sessionId, mode: "allow-all" })).toEqual({
      success: true,
      mode: "allow-all",
    });
    await send(sessionId, "look");
    expect(client.of("session.permissions_changed")).toEqual([{ previousMode: "manual", mode: "allow-all" }]);
    await client.call("session.permissions.setMode", { sessionId, mode: "manual" });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    expect(await client.call("session.permissions.getMode", { sessionId })).toEqual({ mode: "manual" });
    await send(sessionId, "look again");
    expect(client.of("permission.requested")).toEqual([]);
  });
});

test("rules of the session and of the folder decide without asking, and can be removed", async () => {
  await inSmallWorld([...viewing("a.txt"), ...viewing("a.txt")], async ({ client, create, send, folder }) => {
    writeFileSync(join(folder, "a.txt"), "alpha");
    const sessionId = await create();
    const rule = { kind: "read", argument: null };
    await client.call("session.permissions.modifyRules", { sessionId, scope: "location", add: [rule] });
    await send(sessionId, "look");
    expect(client.of("permission.requested")).toEqual([]);
    const applied = await client.call("session.permissions.locations.apply", { sessionId, workingDirectory: folder });
    expect(applied).toMatchObject({
      locationKey: folder,
      locationType: "dir",
      appliedRuleCount: 1,
      appliedRules: [rule],
    });
    await client.call("session.permissions.modifyRules", { sessionId, scope: "location", remove: [rule] });
    await client.call("session.send", { sessionId, prompt: "look again" });
    const { requestId } = await client.received("permission.requested");
    await client.call("session.permissions.handlePendingPermissionRequest", {
      sessionId,
      requestId,
      result: { kind: "approve-once" },
    });
    await client.received("session.idle", {
      after: client.events.findIndex(({ type }) => type === "permission.requested"),
    });
  });
});

test("a tool that a rule denies is no longer offered", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    await send(sessionId, "first");
    await client.call("session.permissions.configure", {
      sessionId,
      rules: { denied: [{ kind: "bash", argument: null }] },
    });
    await send(sessionId, "second");
    const offered = provider.requests.map(({ tools }) => tools.some(({ name }) => name === "bash"));
    expect(offered).toEqual([true, false]);
  });
});

test("an approval that is kept for another folder approves nothing here until that folder is applied", async () => {
  await inSmallWorld([], async ({ client, create, home }) => {
    const sessionId = await create();
    const other = join(home, "other");
    mkdirSync(other);
    const approval = { kind: "commands" as const, commandIdentifiers: ["make"] };
    const { locationKey } = await client.call("session.permissions.locations.resolve", {
      sessionId,
      workingDirectory: other,
    });
    await client.call("session.permissions.locations.addToolApproval", { sessionId, locationKey, approval });
    const applied = await client.call("session.permissions.locations.apply", { sessionId, workingDirectory: other });
    expect(applied).toMatchObject({ changed: true, appliedRules: [{ kind: "shell", argument: "make" }] });
    await client.call("session.permissions.resetSessionApprovals", { sessionId, includeLocation: true });
    const again = await client.call("session.permissions.locations.apply", { sessionId, workingDirectory: other });
    expect(again).toMatchObject({ changed: false, appliedRuleCount: 0 });
  });
});

test("folders are added, moved and checked, and one that is not there is refused", async () => {
  await inSmallWorld([], async ({ client, create, home, folder }) => {
    const sessionId = await create();
    const extra = join(home, "extra");
    mkdirSync(extra);
    const isAllowed = async (path: string) =>
      (await client.call("session.permissions.paths.isPathWithinAllowedDirectories", { sessionId, path })).allowed;
    await client.call("session.permissions.configure", { sessionId, paths: { includeTempDirectory: false } });
    expect(await isAllowed(join(extra, "x"))).toBe(false);
    await client.call("session.permissions.paths.add", { sessionId, path: extra });
    expect(await isAllowed(join(extra, "x"))).toBe(true);
    expect(await isAllowed("inside.txt")).toBe(true);
    const inWorkspace = await client.call("session.permissions.paths.isPathWithinWorkspace", {
      sessionId,
      path: join(extra, "x"),
    });
    expect(inWorkspace).toEqual({ allowed: false });
    await client.call("session.permissions.paths.updatePrimary", { sessionId, path: extra });
    const listed = await client.call("session.permissions.paths.list", { sessionId });
    expect(listed.primary).toBe(extra);
    expect(listed.directories).not.toContain(tmpdir());
    await expect(client.call("session.permissions.paths.add", { sessionId, path: "nowhere" })).rejects.toThrow(
      `Directory not found: ${join(folder, "nowhere")}`,
    );
  });
});

test("trust in a folder outlives the session", async () => {
  await inSmallWorld([], async ({ client, create, folder }) => {
    const first = await create();
    expect(await client.call("session.permissions.folderTrust.isTrusted", { sessionId: first, path: folder })).toEqual({
      trusted: false,
    });
    await client.call("session.permissions.folderTrust.addTrusted", { sessionId: first, path: folder });
    const second = await create();
    expect(await client.call("session.permissions.folderTrust.isTrusted", { sessionId: second, path: "." })).toEqual({
      trusted: true,
    });
  });
});

test.each([
  [{ kind: "read", argument: "*.env" }, "is no pattern"],
  [{ kind: "edit", argument: "src/**" }, "is no pattern"],
  [{ kind: "url", argument: "https://user@example.com" }, "names no host"],
  [{ kind: "shel", argument: "rm" }, "Did you mean shell(rm)?"],
  [{ kind: "shell", argument: "" }, "nothing in its brackets"],
  [{ kind: "shell(rm", argument: null }, "is no name of a kind or a tool"],
  [{ kind: "shell", argument: "git *" }, "Did you mean shell(git:*)?"],
])("a rule that could never match is refused in words: %j", async (rule, words) => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    const refused = client.call("session.permissions.configure", {
      sessionId,
      rules: { approved: [], denied: [rule] },
    });
    await expect(refused).rejects.toThrow(words);
    const added = client.call("session.permissions.modifyRules", { sessionId, scope: "session", add: [rule] });
    await expect(added).rejects.toThrow(words);
  });
});

test("rules in the words of another agent program count, and a host tool may be called like a kind or nearly so", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const tools = ["Read", "reads"].map((name) => ({ name, description: "", parameters: { type: "object" } }));
    const rule = (kind: string, argument: string | null = null) => ({ kind, argument });
    const permissions = { rules: { denied: [rule("Read"), rule("reads"), rule("Bash", "rm:*")], approved: [] } };
    const sessionId = await create({ tools, permissions });
    await client.call("session.tools.initializeAndValidate", { sessionId });
    const { tools: left } = await client.call("session.tools.getCurrentMetadata", { sessionId });
    const names = (left ?? []).map(({ name }) => name);
    expect(names).not.toContain("reads");
    expect(names).not.toContain("Read");
    expect(names).toContain("bash");
    const added = { sessionId, scope: "session" as const, add: [rule("reads")] };
    expect(await client.call("session.permissions.modifyRules", added)).toEqual({ success: true });
    await expect(client.call("session.permissions.modifyRules", { ...added, add: [rule("raed")] })).rejects.toThrow(
      "Did you mean read?",
    );
  });
});
