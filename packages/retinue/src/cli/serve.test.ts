/** `retinue serve` on a TCP port: who may connect, and where it may listen. */
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { RetinueClient, RuntimeConnection } from "@retinue/sdk";
import { describe, expect, test } from "vitest";
import type { Check } from "./doctor-checks.ts";
import { type CliWorld, cliWorld, type RunOptions } from "./test-world.ts";

const VARIABLE = "COPILOT_CONNECTION_TOKEN";

interface Served {
  port: number;
  /** What it has printed so far. */
  printed: string;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** A server that listens; the world ends it. */
async function served(world: CliWorld, args: readonly string[], options: RunOptions = {}): Promise<Served> {
  const { process: child, ended } = world.start(args, options);
  let printed = "";
  return await new Promise((resolve, reject) => {
    child.stdout?.on("data", (text: string) => {
      printed += text;
      const port = /^CLI server listening on port (\d+)\n/m.exec(printed)?.[1];
      const kill = async (signal: NodeJS.Signals) => {
        child.kill(signal);
        await ended;
      };
      if (port) resolve({ port: Number(port), printed, kill });
    });
    void ended.then(({ stderr }) => reject(new Error(`it ended: ${stderr}`)));
  });
}

async function reach(port: number, connectionToken?: string): Promise<string> {
  const connection = RuntimeConnection.forUri(`127.0.0.1:${port}`, { connectionToken });
  await using client = new RetinueClient({ connection, reconnect: false });
  try {
    await client.start();
    return "in";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function tokenFile(world: CliWorld, text: string): string {
  const file = world.put("token", text);
  chmodSync(file, 0o600);
  return file;
}

const MADE = /^Connection token: ([0-9a-f]{48})$/m;

describe("retinue serve", () => {
  test("makes a token, prints it behind the line that clients wait for, and lets in only who shows it", async () => {
    await using world = cliWorld();
    const { port, printed } = await served(world, ["serve"]);
    expect(printed).toMatch(/^CLI server listening on port \d+\nConnection token: [0-9a-f]{48}\n$/);
    const token = MADE.exec(printed)?.[1];
    expect(await reach(port, token)).toBe("in");
    expect(await reach(port)).toContain("AUTHENTICATION_FAILED");
    expect(await reach(port, "wrong")).toContain("AUTHENTICATION_FAILED");
  });

  test("makes another token at every start, and takes an empty variable for none", async () => {
    await using world = cliWorld();
    const starts = [await served(world, ["serve"]), await served(world, ["serve"], { env: { [VARIABLE]: "" } })];
    const [one, two] = starts.map(({ printed }) => MADE.exec(printed)?.[1]);
    expect(one).toBeDefined();
    expect(two).toBeDefined();
    expect(one).not.toBe(two);
  });

  test("takes the token from the environment or from a file, and prints neither", async () => {
    await using world = cliWorld();
    const file = tokenFile(world, "from-the-file\n");
    const byVariable = await served(world, ["serve"], { env: { [VARIABLE]: "from-the-variable" } });
    const byFile = await served(world, ["serve", "--token-file", file], { env: { [VARIABLE]: "from-the-variable" } });
    expect([byVariable.printed, byFile.printed].join("")).not.toMatch(/token|from/i);
    expect(await reach(byVariable.port, "from-the-variable")).toBe("in");
    expect(await reach(byFile.port, "from-the-file")).toBe("in");
    expect(await reach(byFile.port, "from-the-variable")).toContain("AUTHENTICATION_FAILED");
  });

  test("--no-token lets in everybody on loopback, by number and by name", async () => {
    await using world = cliWorld();
    for (const host of ["127.0.0.1", "localhost"]) {
      const { port, printed } = await served(world, ["serve", "--no-token", "--host", host]);
      expect(printed).not.toContain("token");
      const address = host === "localhost" ? RuntimeConnection.forUri(`localhost:${port}`) : undefined;
      await using client = new RetinueClient({ connection: address ?? RuntimeConnection.forUri(String(port)) });
      await client.start();
    }
  });

  test.each([
    ["a host that others reach, without a token", ["--host", "0.0.0.0"], {}, "--host 0.0.0.0 may be reached by other"],
    ["every address of version 6", ["--host", "::"], {}, "needs a token of your own: set COPILOT_CONNECTION_TOKEN"],
    ["the same with --no-token", ["--host", "0.0.0.0", "--no-token"], {}, "needs a token of your own"],
    ["the same with an empty token", ["--host", "0.0.0.0"], { [VARIABLE]: "" }, "needs a token of your own"],
    ["a host that is empty", ["--host", ""], {}, "must not be empty"],
    [
      "a host that does not exist",
      ["--host", "no-such-host.invalid"],
      {},
      "There is no address to listen on for no-such",
    ],
    [
      "--no-token with a token",
      ["--no-token"],
      { [VARIABLE]: "given" },
      "--no-token is not for a server that is given",
    ],
    ["a token file that does not exist", ["--token-file", "nowhere"], {}, "--token-file cannot be read: ENOENT"],
    ["a token file on stdio", ["--stdio", "--token-file", "x"], {}, "--token-file is for TCP servers"],
  ])("refuses %s", async (_, args, env, words) => {
    await using world = cliWorld();
    for (const first of ["serve", "--headless"]) {
      const { code, stdout, stderr } = await world.run([first, ...args], { env });
      expect([code, stdout]).toEqual([expect.any(Number), ""]);
      expect(code).not.toBe(0);
      expect(stderr).toContain(words);
      expect(stderr.trim().split("\n")).toHaveLength(1);
    }
  });

  test("refuses a token file without a token, or with more than one line", async () => {
    await using world = cliWorld();
    for (const text of ["", "\n", "  \n", "one\ntwo\n"]) {
      const { code, stderr } = await world.run(["serve", "--token-file", tokenFile(world, text)]);
      expect(code).toBe(2);
      expect(stderr).toContain("must hold the token on one line");
    }
  });

  test("says when others may read the token file", async () => {
    await using world = cliWorld();
    const file = tokenFile(world, "shared");
    chmodSync(file, 0o644);
    const { process: child, says } = world.start(["serve", "--token-file", file]);
    await says("other users may read");
    child.kill();
  });

  test("listens beyond loopback with a token of one's own", async () => {
    await using world = cliWorld();
    const { port } = await served(world, ["serve", "--host", "0.0.0.0"], { env: { [VARIABLE]: "mine" } });
    expect(await reach(port, "mine")).toBe("in");
    expect(await reach(port)).toContain("AUTHENTICATION_FAILED");
  });

  test("names a port that another program uses", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = address && typeof address === "object" ? address.port : 0;
    await using world = cliWorld();
    const { code, stderr } = await world.run(["serve", "--port", String(port)]);
    other.close();
    expect(code).toBe(1);
    expect(stderr).toBe(
      `retinue: Cannot listen on 127.0.0.1:${port}: another program uses this port. Give another --port, or none for any free one.\n`,
    );
  });
});

describe("started as official clients do", () => {
  test.each([
    ["no variable", {}, undefined],
    ["an empty variable", { [VARIABLE]: "" }, undefined],
    ["a token in the variable", { [VARIABLE]: "shared" }, "shared"],
  ])("with %s it follows the environment, and prints nothing but its port", async (_, env, token) => {
    await using world = cliWorld();
    const { port, printed } = await served(world, ["--headless", "--no-auto-update"], { env });
    expect(printed).toMatch(/^CLI server listening on port \d+\n$/);
    expect(await reach(port, token)).toBe("in");
    if (token) expect(await reach(port)).toContain("AUTHENTICATION_FAILED");
  });
});

test("the token is in no file of the home, and not in the environment of what the server starts", async () => {
  await using world = cliWorld();
  const token = "plainly-fake-token";
  const { port } = await served(world, ["serve"], { env: { [VARIABLE]: token } });
  const connection = RuntimeConnection.forUri(String(port), { connectionToken: token });
  await using client = new RetinueClient({ connection });
  const session = await client.createSession({ workingDirectory: world.folder });
  const { output } = await session.rpc.shell.executeUserRequested({ requestId: "1", command: "env" });
  expect(output).toContain("RETINUE_SESSION_ID");
  expect(output).not.toContain(token);
  const files = readdirSync(world.home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  for (const { parentPath, name } of files) expect(readFileSync(join(parentPath, name), "latin1")).not.toContain(token);
});

describe("retinue doctor", () => {
  const examine = async (world: CliWorld): Promise<Check[]> => {
    const { stdout } = await world.run(["doctor", "--json"]);
    const checks: Check[] = JSON.parse(stdout);
    return checks.filter(({ name }) => name === "server");
  };

  test("warns about a server without a token while it runs, and about no other", async () => {
    await using world = cliWorld();
    expect(await examine(world)).toEqual([{ name: "server", status: "ok", text: "none listens on a TCP port" }]);
    const open = await served(world, ["serve", "--no-token"]);
    const closed = await served(world, ["serve"]);
    const [first, second, ...rest] = (await examine(world)).sort((a, b) => b.status.localeCompare(a.status));
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      status: "warning",
      text: expect.stringContaining(`127.0.0.1:${open.port} asks for no token`),
      advice: expect.stringContaining("--no-token"),
    });
    expect(second).toMatchObject({
      status: "ok",
      text: expect.stringContaining(`127.0.0.1:${closed.port} asks for a`),
    });
    await open.kill("SIGTERM");
    await closed.kill("SIGTERM");
    expect(await examine(world)).toMatchObject([{ status: "ok", text: "none listens on a TCP port" }]);
    expect(readdirSync(join(world.home, "servers"))).toEqual([]);
  });

  test("is not misled by what a killed server or somebody else has left", async () => {
    await using world = cliWorld();
    const { kill } = await served(world, ["serve", "--no-token"]);
    await kill("SIGKILL");
    expect(readdirSync(join(world.home, "servers"))).toHaveLength(1);
    for (const [name, text] of Object.entries({
      "half.json": '{"pid":',
      "other.json": '{"pid":"me"}',
      "reused.json": JSON.stringify({ pid: process.pid, startedAt: 1, host: "127.0.0.1", port: 1, needsToken: false }),
    }))
      writeFileSync(join(world.home, "servers", name), text);
    expect(await examine(world)).toMatchObject([{ status: "ok", text: "none listens on a TCP port" }]);
    await served(world, ["serve"]);
    expect(readdirSync(join(world.home, "servers"))).toHaveLength(1);
  });

  test("a server runs on a home where its file cannot be written", async () => {
    await using world = cliWorld();
    mkdirSync(world.home);
    writeFileSync(join(world.home, "servers"), "in the way");
    const { port } = await served(world, ["--headless"]);
    expect(await reach(port)).toBe("in");
  });
});
