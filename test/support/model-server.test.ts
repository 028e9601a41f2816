import { expect, test } from "vitest";
import { call, chunks, drop, hang, say, status } from "./model-answers.ts";
import { type Endpoint, startModelServer } from "./model-server.ts";

const post = (endpoint: Endpoint, path: string, body: object, signal?: AbortSignal) =>
  fetch(`${endpoint.url}/${path}`, { method: "POST", body: JSON.stringify(body), ...(signal ? { signal } : {}) });

const REQUEST = { model: "m", messages: [{ role: "user", content: "hi" }] };
const PATHS = ["chat/completions", "responses", "messages"];

test.each(PATHS)("%s answers with the text that was scripted, whole and streamed", async (path) => {
  await using server = await startModelServer();
  const endpoint = server.endpoint().script(say("scripted words"), chunks(3));
  expect(await (await post(endpoint, path, REQUEST)).text()).toContain("scripted words");
  const streamed = await post(endpoint, path, { ...REQUEST, stream: true });
  expect(streamed.headers.get("content-type")).toBe("text/event-stream");
  const events = await streamed.text();
  for (const word of ["word0 ", "word1 ", "word2 "]) expect(events).toContain(word);
});

test.each(PATHS)("%s answers with the call that was scripted, whole and streamed", async (path) => {
  await using server = await startModelServer();
  const endpoint = server.endpoint().reply(() => call("probe", { a: 1 }, "call_1"));
  for (const stream of [false, true]) {
    const text = await (await post(endpoint, path, { ...REQUEST, stream })).text();
    for (const part of ["probe", "call_1"]) expect(text).toContain(part);
  }
});

test("endpoints have their own handlers and their own records", async () => {
  await using server = await startModelServer();
  const [one, two] = [server.endpoint().reply(() => say("one")), server.endpoint().reply(() => say("two"))];
  expect(await (await post(two, "chat/completions", REQUEST)).text()).toContain("two");
  expect(one.requests).toHaveLength(0);
  expect(two.lastRequest.lastText).toBe("hi");
});

test("a status is answered with its headers and an error body", async () => {
  await using server = await startModelServer();
  const endpoint = server.endpoint().script(status(429, { message: "slow down", headers: { "retry-after": "0" } }));
  const answer = await post(endpoint, "chat/completions", REQUEST);
  expect(answer.status).toBe(429);
  expect(answer.headers.get("retry-after")).toBe("0");
  expect(await answer.json()).toMatchObject({ error: { message: "slow down" } });
});

test("a dropped request fails, and a hanging one ends when the server does", async () => {
  const server = await startModelServer();
  const endpoint = server.endpoint().script(drop(), hang());
  await expect(post(endpoint, "chat/completions", REQUEST)).rejects.toThrow();
  const hanging = expect(post(endpoint, "chat/completions", REQUEST)).rejects.toThrow();
  await endpoint.asked(2);
  await server[Symbol.asyncDispose]();
  await hanging;
});

test("without a record nothing is kept", async () => {
  await using server = await startModelServer({ record: false });
  const endpoint = server.endpoint();
  await (await post(endpoint, "chat/completions", REQUEST)).text();
  expect(endpoint.requests).toHaveLength(0);
});
