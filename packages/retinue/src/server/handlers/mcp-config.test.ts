import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { serverIdentity } from "../../mcp/server-config.ts";
import { call, say } from "../../models/scripted.ts";
import { FolderTrust } from "../../project/trust.ts";
import { inSmallWorld, type SmallWorld } from "./small-world.ts";

const PROBE = fileURLToPath(new URL("../../mcp/fixtures/probe-server.mjs", import.meta.url));
const probe = { command: process.execPath, args: [PROBE] };

const statesOf = async ({ client }: Pick<SmallWorld, "client">, sessionId: string) =>
  (await client.call("session.mcp.list", { sessionId })).servers.map(({ name, status, source }) => [
    name,
    status,
    source,
  ]);

function putProject(folder: string, servers: unknown): void {
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
}

test("servers of the user start in every new session, and those that were switched off are listed and can be enabled", async () => {
  await inSmallWorld([], async (world) => {
    const { client, create } = world;
    await client.call("mcp.config.add", { name: "probe", config: probe });
    await client.call("mcp.config.add", { name: "second", config: { ...probe, env: { PROBE_TAG: "2" } } });
    await client.call("mcp.config.disable", { names: ["second"] });
    const sessionId = await create();
    expect(await client.received("session.mcp_servers_loaded")).toMatchObject({
      servers: [
        { name: "probe", status: "connected", source: "user" },
        { name: "second", status: "disabled", source: "user" },
      ],
    });
    await client.call("session.mcp.enable", { sessionId, serverName: "second" });
    await client.call("mcp.config.remove", { name: "probe" });
    await client.call("mcp.config.reload", {});
    expect(await statesOf(world, sessionId)).toEqual([
      ["probe", "connected", "user"],
      ["second", "connected", "user"],
    ]);
    await client.call("session.mcp.reload", { sessionId });
    expect(await statesOf(world, sessionId)).toEqual([["second", "connected", "user"]]);
    expect((await client.call("mcp.config.list", {})).servers).toMatchObject({ second: { command: process.execPath } });
    await expect(client.call("mcp.config.update", { name: "probe", config: probe })).rejects.toThrow(
      "There is no MCP server probe.",
    );
  });
});

test("a server of a project waits for consent to exactly its command line, starts when it is given, and never hides one of the user before", async () => {
  const turns = [[call("probe-where")], [say("one")]];
  await inSmallWorld(turns, async (world) => {
    const { client, create, send, folder } = world;
    const project = { ...probe, env: { PROBE_TAG: "project" }, cwd: "." };
    putProject(folder, { probe: project, unknown: { command: "unknown" } });
    await client.call("mcp.config.add", { name: "probe", config: { ...probe, env: { PROBE_TAG: "user" } } });
    const sessionId = await create({ enableConfigDiscovery: true });
    await client.received("session.mcp_servers_loaded");
    expect(await statesOf(world, sessionId)).toEqual([
      ["probe", "connected", "user"],
      ["unknown", "not_configured", "workspace"],
    ]);
    expect(client.of("session.warning")).toMatchObject([{ warningType: "folder_trust" }]);
    const discover = () => client.call("mcp.discover", { workingDirectory: folder, includeEffectiveSource: true });
    expect((await discover()).servers).toMatchObject([
      { name: "probe", source: "user", enabled: true, effectiveSource: { editability: "editable" } },
      { name: "probe", source: "workspace", enabled: false, type: "stdio" },
      { name: "unknown", source: "workspace", enabled: false, type: "stdio" },
    ]);
    const after = client.events.length;
    await client.call("session.permissions.folderTrust.addTrusted", { sessionId, path: folder });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await send(sessionId, "where?");
    expect(client.of("tool.execution_complete")[0]?.result?.content).toContain('"tag":"project"');
    await client.received("session.mcp_servers_loaded", { after });
    expect(await statesOf(world, sessionId)).toEqual([
      ["probe", "connected", "workspace"],
      ["unknown", "failed", "workspace"],
    ]);
    expect(client.of("session.warning").map(({ message }) => message)).toContain(
      "The MCP server probe of mcp-config.json is hidden by that of .mcp.json.",
    );
    const changed = { ...project, args: [PROBE, "--changed"] };
    putProject(folder, { probe: changed, unknown: { command: "unknown", args: ["changed"] } });
    await client.call("session.mcp.reload", { sessionId });
    expect(await statesOf(world, sessionId)).toEqual([
      ["probe", "connected", "user"],
      ["unknown", "not_configured", "workspace"],
    ]);
  });
});

test("a server whose variables cannot be filled in is named and left out, and what a program gives is taken as it is", async () => {
  const secret = `\${env:NOT_SET_ANYWHERE}`;
  await inSmallWorld([], async (world) => {
    const { client, create, home } = world;
    mkdirSync(join(home, "home"), { recursive: true });
    writeFileSync(
      join(home, "home/mcp-config.json"),
      JSON.stringify({ mcpServers: { needy: { ...probe, env: { TOKEN: secret } }, broken: {} } }),
    );
    const sessionId = await create({ mcpServers: { probe: { ...probe, env: { PROBE_TAG: secret } } } });
    await client.received("session.mcp_servers_loaded");
    expect(await statesOf(world, sessionId)).toEqual([["probe", "connected", undefined]]);
    expect(client.of("session.warning").map(({ message }) => message)).toEqual([
      "mcp-config.json: the MCP server broken: it has neither a command nor a url, so it is left out.",
      "mcp-config.json: the MCP server needy: the environment variable NOT_SET_ANYWHERE is not set, so it is left out.",
    ]);
  });
});

test("a server of a project is ended with the next prompt after trust was taken away elsewhere", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async (world) => {
    const { create, send, folder, runtime } = world;
    putProject(folder, { probe });
    const trust = new FolderTrust({ documents: runtime.sessions.store.documents, warn: () => undefined });
    await trust.trust(folder, new Map([[serverIdentity("probe", probe), "probe"]]));
    const sessionId = await create({ enableConfigDiscovery: true });
    await send(sessionId, "first");
    expect(await statesOf(world, sessionId)).toEqual([["probe", "connected", "workspace"]]);
    await trust.forget(folder);
    await send(sessionId, "second");
    expect(await statesOf(world, sessionId)).toEqual([["probe", "not_configured", "workspace"]]);
    expect(world.provider.requests.map(({ tools }) => tools.some(({ name }) => name === "probe-echo"))).toEqual([
      true,
      false,
    ]);
  });
});

test("a client that joins with a server of its own starts it for the whole session", async () => {
  await inSmallWorld([], async (world) => {
    const sessionId = await world.create();
    expect(await statesOf(world, sessionId)).toEqual([]);
    const second = world.anotherClient();
    await second.call("session.resume", { sessionId, mcpServers: { probe } });
    expect(await world.client.received("session.mcp_servers_loaded")).toMatchObject({
      servers: [{ name: "probe", status: "connected" }],
    });
  });
});
