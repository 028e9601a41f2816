/** A client on pipes that does not read what it is sent: the runtime works on, and ends when it is told to. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Peer, streamTransport } from "@retinue/protocol";
import { expect, test } from "vitest";
import { say } from "../support/model-answers.ts";
import { type Endpoint, startModelServer } from "../support/model-server.ts";
import { cleanEnv, freshFolders, ours, runtimePath } from "../support/runtime.ts";

/** More than any pipe holds. */
const LONG = "x".repeat(1024 * 1024);

interface Piped {
  runtime: ChildProcess;
  model: Endpoint;
  sessionId: string;
  events: { type: string; data: Record<string, unknown> }[];
  /** What the runtime sends stays in the pipe, until this client reads again. */
  stopReading(): void;
  read(): void;
  call(method: string, params: object): Promise<unknown>;
}

async function onPipes(work: (piped: Piped) => Promise<void>): Promise<void> {
  await using folders = await freshFolders();
  await using server = await startModelServer({ record: false });
  const model = server.endpoint();
  const runtime = spawn(process.execPath, [runtimePath, "--headless", "--stdio", "--no-auto-update"], {
    cwd: folders.folder,
    env: cleanEnv({ COPILOT_HOME: folders.home, TMPDIR: folders.temporary }),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const events: Piped["events"] = [];
  const peer = new Peer(streamTransport(runtime.stdout, runtime.stdin), {
    request: () => undefined,
    notification: (method, params) => {
      if (method === "session.event") events.push((params as { event: Piped["events"][number] }).event);
    },
  });
  try {
    await peer.request("connect", {});
    const created = await peer.request("session.create", {
      workingDirectory: folders.folder,
      model: "scripted",
      provider: { type: "openai", baseUrl: model.url, apiKey: "k" },
    });
    await work({
      runtime,
      model,
      sessionId: (created as { sessionId: string }).sessionId,
      events,
      stopReading: () => runtime.stdout.pause(),
      read: () => runtime.stdout.resume(),
      call: (method, params) => peer.request(method, params),
    });
  } finally {
    runtime.kill("SIGKILL");
    if (runtime.exitCode === null && runtime.signalCode === null) await once(runtime, "exit");
  }
}

test.runIf(ours)("the runtime works on while a client on pipes does not read, and loses nothing", async () => {
  await onPipes(async ({ model, sessionId, events, stopReading, read, call }) => {
    let requests = 0;
    const third = new Promise<void>((resolve) => {
      model.reply(() => {
        requests++;
        if (requests === 3) resolve();
        return say(LONG);
      });
    });
    stopReading();
    const sent = [1, 2, 3].map((n) => call("session.send", { sessionId, prompt: `prompt ${n}` }));
    await third;
    read();
    await Promise.all(sent);
    const isThere = () => events.filter(({ type }) => type === "assistant.message").length === 3;
    while (!isThere() || events.at(-1)?.type !== "session.idle") await call("ping", {});
    expect(events.filter(({ data }) => data.content === LONG)).toHaveLength(3);
  });
});

test.runIf(ours)("the runtime ends at SIGTERM although its client on pipes does not read", async () => {
  await onPipes(async ({ runtime, model, sessionId, stopReading, call }) => {
    const second = new Promise<void>((resolve) => {
      let requests = 0;
      model.reply(() => {
        if (++requests === 2) resolve();
        return say(LONG);
      });
    });
    stopReading();
    for (const n of [1, 2]) void call("session.send", { sessionId, prompt: `prompt ${n}` }).catch(() => undefined);
    await second;
    runtime.kill("SIGTERM");
    const [code] = await once(runtime, "exit");
    expect(code).not.toBeNull();
  });
});
