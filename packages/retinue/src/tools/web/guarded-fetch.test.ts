import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { checkAddress, guardedFetch } from "./guarded-fetch.ts";

const never = new AbortController().signal;
const PUBLIC = "https://8.8.8.8/mcp";
const INSIDE = "https://10.1.2.3/mcp";

describe("a server on the public internet", () => {
  test.each([
    ["https://10.0.0.1/token", "private network"],
    ["https://192.168.1.1/", "private network"],
    ["https://169.254.169.254/latest", "private network"],
    ["https://[fd00::1]/", "private network"],
    ["https://[::ffff:10.0.0.1]/", "private network"],
    ["https://2130706433/", "on this machine"],
    ["https://127.0.0.1/", "on this machine"],
    ["https://[::1]/", "on this machine"],
    ["https://localhost/", "on this machine"],
    ["https://a.localhost/", "on this machine"],
    ["http://9.9.9.9/", "not encrypted"],
    ["ftp://9.9.9.9/", "not encrypted"],
    ["https://me:secret@9.9.9.9/", "user name or a password"],
  ])("cannot send us to %s", async (address, why) => {
    const guarded = guardedFetch(PUBLIC, never);
    await expect(guarded.fetch(address)).rejects.toThrow(why);
    expect(() => guarded.throwRefusal()).toThrow(why);
  });

  test("does not get its own words into the refusal", () => {
    expect(() => checkAddress("https://me:hunter2@9.9.9.9/", PUBLIC)).toThrow(/^(?!.*hunter2)/);
    expect(() => checkAddress("not an address", PUBLIC)).toThrow("it is not an address");
  });
});

describe("a server in a private network", () => {
  test.each(["https://127.0.0.1/", "https://169.254.169.254/"])("cannot send us to %s either", async (address) => {
    await expect(guardedFetch(INSIDE, never).fetch(address)).rejects.toThrow("the sign-in was stopped");
  });
});

describe("a server on this machine", () => {
  test("may name others there, but nothing without encryption elsewhere", () => {
    expect(checkAddress("http://127.0.0.1:9/token", "http://localhost:8/mcp").port).toBe("9");
    expect(() => checkAddress("http://example.com/", "http://localhost:8/mcp")).toThrow("not encrypted");
  });

  test("is not read for longer than a document may be, and a redirect is not followed", async () => {
    await using there = await listening((path, respond) =>
      path === "/long" ? respond(200, {}, "x".repeat(2_000_000)) : respond(302, { location: "/long" }, ""),
    );
    const { fetch } = guardedFetch(there.origin, never);
    await expect(fetch(`${there.origin}/long`)).rejects.toThrow("sent more than");
    expect((await fetch(`${there.origin}/elsewhere`)).status).toBe(302);
  });

  test("that never answers is left when whoever asked has gone", async () => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    await using there = await listening(() => asked());
    const leaving = new AbortController();
    const fetching = guardedFetch(there.origin, leaving.signal).fetch(there.origin);
    const left = expect(fetching).rejects.toThrow("could not be asked");
    await isAsked;
    leaving.abort();
    await left;
  });
});

type Respond = (status: number, headers: Record<string, string>, body: string) => void;

async function listening(answer: (path: string, respond: Respond) => void) {
  const server = createServer((request, response) =>
    answer(request.url ?? "", (status, headers, body) => {
      response.writeHead(status, headers);
      response.end(body);
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
