import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inSmallWorld } from "./small-world.ts";

test("files of the session's folder are written, read, listed, renamed and removed", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.workspaces.createFile", { sessionId, path: "notes/a.txt", content: "alpha" });
    expect(client.of("session.workspace_file_changed")).toEqual([{ operation: "create", path: "notes/a.txt" }]);
    expect(await client.call("session.workspaces.readFile", { sessionId, path: "notes/a.txt" })).toEqual({
      content: "alpha",
    });
    const stat = await client.call("session.workspaces.statFile", { sessionId, path: "notes/a.txt" });
    expect(stat).toMatchObject({ isFile: true, isDirectory: false, size: 5 });
    await client.call("session.workspaces.renamePath", { sessionId, source: "notes/a.txt", destination: "b.txt" });
    await client.call("session.workspaces.createDirectory", { sessionId, path: "deep/er", recursive: true });
    const { saved } = await client.call("session.workspaces.saveLargePaste", { sessionId, content: "äöü" });
    expect(saved).toMatchObject({ filename: "paste-1.txt", sizeBytes: 6 });
    expect(readFileSync(saved?.filePath ?? "", "utf8")).toBe("äöü");
    expect(await client.call("session.workspaces.listFiles", { sessionId })).toEqual({
      files: ["b.txt", "paste-1.txt"],
    });
    await client.call("session.workspaces.removePath", { sessionId, path: "b.txt" });
    await expect(client.call("session.workspaces.readFile", { sessionId, path: "b.txt" })).rejects.toThrow(
      "File not found: b.txt",
    );
  });
});

test("a name cannot lead out of the session's folder", async () => {
  await inSmallWorld([], async ({ client, create, home }) => {
    const sessionId = await create();
    writeFileSync(join(home, "secret.txt"), "secret");
    for (const path of ["../plan.md", "../../../../secret.txt", join(home, "secret.txt"), "a/../../x", ""]) {
      await expect(client.call("session.workspaces.readFile", { sessionId, path })).rejects.toThrow("outside");
      await expect(client.call("session.workspaces.createFile", { sessionId, path, content: "x" })).rejects.toThrow(
        "outside",
      );
      await expect(client.call("session.workspaces.removePath", { sessionId, path, recursive: true })).rejects.toThrow(
        "outside",
      );
      await expect(
        client.call("session.workspaces.renamePath", { sessionId, source: "b", destination: path }),
      ).rejects.toThrow();
    }
    expect(existsSync(join(home, "secret.txt"))).toBe(true);
  });
});

test("the workspace record has the folder and the name", async () => {
  await inSmallWorld([], async ({ client, create, folder, runtime }) => {
    const sessionId = await create({ clientName: "probe" });
    await client.call("session.workspaces.updateMetadata", {
      sessionId,
      name: "Mine",
      context: { cwd: folder, repository: "me/it", branch: "main" },
    });
    const { workspace, path } = await client.call("session.workspaces.getWorkspace", { sessionId });
    expect(workspace).toMatchObject({
      id: sessionId,
      cwd: folder,
      repository: "me/it",
      branch: "main",
      name: "Mine",
      client_name: "probe",
      user_named: true,
      summary_count: 0,
    });
    expect(path).toBe(join(runtime.config.home, "session-state", sessionId));
    await expect(client.call("session.workspaces.ensure", { sessionId, context: { nonsense: 1 } })).rejects.toThrow(
      "context",
    );
  });
});

test("a diff lists changed, new and deleted files of the repository, and says when it fell back", async () => {
  await inSmallWorld([], async ({ client, create, folder }) => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
    writeFileSync(join(folder, "kept.txt"), "one\n");
    writeFileSync(join(folder, "gone.txt"), "gone\n");
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("commit", "-q", "-m", "first");
    git("checkout", "-q", "-b", "work");
    writeFileSync(join(folder, "branch.txt"), "b\n");
    git("add", ".");
    git("commit", "-q", "-m", "second");
    writeFileSync(join(folder, "kept.txt"), "two\n");
    writeFileSync(join(folder, "fresh ä.txt"), "new\n");
    rmSync(join(folder, "gone.txt"));
    const sessionId = await create();
    const unstaged = await client.call("session.workspaces.diff", { sessionId, mode: "unstaged" });
    expect(unstaged).toMatchObject({ requestedMode: "unstaged", mode: "unstaged", isFallback: false });
    expect(unstaged.changes.map(({ path, changeType }) => [path, changeType])).toEqual([
      ["gone.txt", "deleted"],
      ["kept.txt", "modified"],
      ["fresh ä.txt", "added"],
    ]);
    expect(unstaged.changes[1]?.diff).toContain("+two");
    const branch = await client.call("session.workspaces.diff", { sessionId, mode: "branch" });
    expect(branch).toMatchObject({ mode: "branch", baseBranch: "main", isFallback: false });
    expect(branch.changes.map(({ path }) => path)).toContain("branch.txt");
    const session = await client.call("session.workspaces.diff", { sessionId, mode: "session" });
    expect(session).toMatchObject({
      mode: "unstaged",
      isFallback: true,
      unavailableReason: "file-change-tracking-disabled",
    });
  });
});
