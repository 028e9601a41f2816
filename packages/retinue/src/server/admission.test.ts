/** `serveConnection` as a host program uses it, with a token of its own and no socket. */
import { linkedTransports, Peer } from "@retinue/protocol";
import { expect, test } from "vitest";
import { serveConnection } from "./connection.ts";
import type { Runtime } from "./runtime.ts";

function connected(token: string | undefined) {
  const told: string[] = [];
  const runtime = {
    enter: () => told.push("enter"),
    leave: async () => void told.push("leave"),
    call: async (method: string) => void told.push(method),
  } as unknown as Runtime;
  const [near, far] = linkedTransports();
  const ended = serveConnection(far, { version: "1", token, load: async () => runtime });
  const peer = new Peer(near, { request: () => undefined });
  return { peer, told, ended };
}

test("a client of a host program must show the token before the runtime hears of it", async () => {
  const { peer, told, ended } = connected("open sesame");
  await expect(peer.request("session.list", {})).rejects.toThrow("AUTHENTICATION_REQUIRED");
  await expect(peer.request("connect", {})).rejects.toThrow("AUTHENTICATION_FAILED");
  expect(told).toEqual([]);
  expect(await peer.request("connect", { token: "open sesame" })).toMatchObject({ ok: true });
  await peer.request("session.list", {});
  expect(await peer.request("connect", { token: "open sesame" })).toMatchObject({ ok: true });
  peer.close();
  await ended;
  expect(told).toEqual(["enter", "session.list", "leave"]);
});

test("a client that leaves without the token is not reported to the runtime as gone", async () => {
  const { peer, told, ended } = connected("open sesame");
  await expect(peer.request("connect", { token: "wrong" })).rejects.toThrow("AUTHENTICATION_FAILED");
  peer.close();
  await ended;
  expect(told).toEqual([]);
});

test("a client that leaves while its next try waits ends its connection at once", async () => {
  const { peer, told, ended } = connected("open sesame");
  const tries = ["a", "b", "open sesame"].map((token) => peer.request("connect", { token }));
  await expect(tries[0]).rejects.toThrow("AUTHENTICATION_FAILED");
  peer.close();
  await ended;
  for (const each of tries.slice(1)) await expect(each).rejects.toMatchObject({ code: "connection_closed" });
  expect(told).toEqual([]);
});

test("an empty token lets in nobody", async () => {
  const { peer, ended } = connected("");
  for (const token of ["", undefined])
    await expect(peer.request("connect", { token })).rejects.toThrow("must not be empty");
  await expect(peer.request("ping", {})).rejects.toThrow("AUTHENTICATION_REQUIRED");
  peer.close();
  await ended;
});

test("without a token the first call lets a client in, and a token that is shown is refused", async () => {
  const { peer, told, ended } = connected(undefined);
  await expect(peer.request("connect", { token: "any" })).rejects.toThrow("AUTHENTICATION_NOT_CONFIGURED");
  expect(told).toEqual([]);
  await peer.request("session.list", {});
  expect(told).toEqual(["enter", "session.list"]);
  peer.close();
  await ended;
});
