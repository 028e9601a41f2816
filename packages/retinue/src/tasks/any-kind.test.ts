/** The registry with a test executor: what holds for every kind of task, also for future ones. */
import { describe, expect, test } from "vitest";
import { smallSession } from "../session/small-session.ts";
import type { Executor, RunOptions } from "./executor.ts";
import type { End } from "./moves.ts";
import { type AgentRecord, newHead, TASK } from "./record.ts";
import { Tasks } from "./registry.ts";

/** An executor whose tasks end when the test says so. */
class Work implements Executor<AgentRecord> {
  readonly kind = "agent";
  readonly traits = { isKept: true, joinsOwner: true, isAddressable: true, runsHere: true, delaysIdle: true };
  readonly steps: string[] = [];
  isBroken = false;
  /** Called when a task is closed, which may take long. */
  onClose = (): void => undefined;
  readonly #ends = new Map<string, (end: End) => void>();
  readonly view = {
    describe: () => {
      throw new Error("nobody looks");
    },
    progress: () => {
      throw new Error("nobody looks");
    },
    notice: ({ id, status }: AgentRecord) => ({
      kind: "notice" as const,
      id: `notice-${id}`,
      content: status,
      cause: {
        type: "agent_completed" as const,
        agentId: id,
        agentType: "t",
        displayName: id,
        description: "",
        status: "completed" as const,
      },
    }),
  };

  async open({ id }: AgentRecord) {
    this.steps.push(`open ${id}`);
    if (id === "closed-door") throw new Error("it cannot be opened");
  }
  start(record: AgentRecord, options: RunOptions) {
    return this.#run("start", record, options);
  }
  continue(record: AgentRecord, options: RunOptions) {
    return this.#run("continue", record, options);
  }
  async message({ id }: AgentRecord, { text }: { text: string }) {
    this.steps.push(`message ${id} ${text}`);
  }
  async ending({ id }: AgentRecord, { way }: End) {
    this.steps.push(`ending ${id} ${way}`);
  }
  ended({ id }: AgentRecord, { way }: End) {
    this.steps.push(`ended ${id} ${way}`);
  }
  async close({ id }: AgentRecord) {
    this.onClose();
    this.steps.push(`close ${id}`);
  }
  end(id: string, end: End): void {
    this.#ends.get(id)?.(end);
  }
  #run(how: string, { id }: AgentRecord, { signal }: RunOptions): Promise<End> {
    this.steps.push(`${how} ${id}`);
    if (this.isBroken) throw new Error("the work broke");
    return new Promise((resolve) => {
      this.#ends.set(id, resolve);
      signal.addEventListener("abort", () => resolve({ way: "cancelled" }), { once: true });
    });
  }
}

const record = (id: string, more: Partial<AgentRecord> = {}): AgentRecord => ({
  ...newHead(0),
  kind: "agent",
  id,
  rootId: "root",
  ownerId: "root",
  callId: `call-${id}`,
  name: id,
  description: "",
  agentType: "t",
  prompt: "do it",
  mode: "background",
  model: "m",
  inherit: "none",
  owesEnd: false,
  ...more,
});

async function inWorld(
  test: (world: {
    tasks: Tasks;
    work: Work;
    stored(id: string): Promise<string | undefined>;
    notices(): string[];
  }) => Promise<void>,
) {
  using small = smallSession();
  const { session, log, store } = small;
  const work = new Work();
  const other = { ...work, traits: { ...work.traits, isKept: false } };
  const tasks = new Tasks({
    root: session,
    executors: {
      agent: work,
      fleet: { ...other, kind: "fleet", start: async () => undefined, view: work.view } as never,
      "mcp-task": { ...other, kind: "mcp-task", start: async () => undefined, view: work.view } as never,
      shell: { ...other, kind: "shell", start: async () => undefined, view: work.view } as never,
      client: { ...other, kind: "client", start: async () => undefined, view: work.view } as never,
    },
    mailboxOf: (id) => (id === "root" ? { session, wake: () => undefined } : undefined),
    onChanged: () => undefined,
  });
  await test({
    tasks,
    work,
    stored: async (id) => {
      await log.committed();
      return (await TASK.get(store.documents, `root/${id}`))?.status;
    },
    notices: () => session.inbox.notices.map(({ id }) => id),
  });
}

const { signal } = new AbortController();
const ended = { afterTurns: Number.POSITIVE_INFINITY, signal };

describe("a task", () => {
  test("goes from open to close in this order, and its record says each state", async () => {
    await inWorld(async ({ tasks, work, stored }) => {
      await tasks.start(record("a"));
      expect(await stored("a")).toBe("running");
      work.end("a", { way: "completed", text: "done" });
      await tasks.wait("a", ended);
      expect(await stored("a")).toBe("completed");
      expect(work.steps).toEqual(["open a", "start a", "ending a completed", "ended a completed", "close a"]);
    });
  });

  test.each(["completed", "lost"] as const)("that was %s has told its owner so before it is closed", async (way) => {
    await inWorld(async ({ tasks, work, notices }) => {
      await tasks.start(record("a"));
      let told: string[] = [];
      const closed = new Promise<void>((resolve) => {
        work.onClose = () => {
          told = notices();
          resolve();
        };
      });
      if (way === "completed") work.end("a", { way });
      else void tasks.lose("a", "its machine is gone");
      await closed;
      expect(told).toEqual(["notice-a"]);
    });
  });

  test("that takes messages is idle after its answer, and may fail while idle without running again", async () => {
    await inWorld(async ({ tasks, work, stored }) => {
      await tasks.start(record("a", { isMultiTurn: true }));
      work.end("a", { way: "completed", text: "one" });
      await tasks.wait("a", { afterTurns: 0, signal });
      expect(await stored("a")).toBe("idle");
      await tasks.lose("a", "its machine is gone");
      expect(tasks.records.get("a")).toMatchObject({ status: "failed", reason: "lost", error: "its machine is gone" });
      expect(work.steps.filter((step) => /start|continue/.test(step))).toEqual(["start a"]);
    });
  });

  test("that is sent a message while idle runs again, and the turn is kept with that message", async () => {
    await inWorld(async ({ tasks, work }) => {
      await tasks.start(record("a", { isMultiTurn: true }));
      work.end("a", { way: "completed", text: "one" });
      await tasks.wait("a", { afterTurns: 0, signal });
      await tasks.send("a", { text: "and two?", source: "user" });
      work.end("a", { way: "completed", text: "two" });
      await tasks.wait("a", { afterTurns: 1, signal });
      expect(tasks.records.get("a")?.turns).toMatchObject([
        { response: "one" },
        { message: "and two?", response: "two" },
      ]);
    });
  });

  test("that cannot be opened has failed, and its starter gets the reason", async () => {
    await inWorld(async ({ tasks, stored }) => {
      await expect(tasks.start(record("closed-door"))).rejects.toThrow("it cannot be opened");
      expect(await stored("closed-door")).toBe("failed");
    });
  });

  test("that ends in several ways at once takes the first", async () => {
    await inWorld(async ({ tasks, work }) => {
      await tasks.start(record("a"));
      const both = Promise.all([tasks.cancel("a"), tasks.cancel("a"), tasks.lose("a", "gone")]);
      work.end("a", { way: "completed", text: "too late" });
      await both;
      expect(tasks.records.get("a")?.status).toBe("cancelled");
      expect(work.steps.filter((step) => step.startsWith("ended"))).toEqual(["ended a cancelled"]);
    });
  });

  test("whose run throws has failed, and its owner is told like of any other end", async () => {
    await inWorld(async ({ tasks, work, notices, stored }) => {
      work.isBroken = true;
      await tasks.start(record("a"));
      await tasks.settled();
      expect(await stored("a")).toBe("failed");
      expect(tasks.records.get("a")?.error).toBe("the work broke");
      expect(notices()).toEqual(["notice-a"]);
      expect(work.steps).toEqual(["open a", "start a", "ending a failed", "ended a failed", "close a"]);
    });
  });

  test("is cancelled with everything below it, whatever it is doing", async () => {
    await inWorld(async ({ tasks }) => {
      await tasks.start(record("a"));
      await tasks.start(record("b", { ownerId: "a" }));
      await tasks.start(record("c", { ownerId: "b" }));
      expect(await tasks.cancel("a")).toBe(true);
      expect(tasks.records.list().map(({ id, status }) => `${id} ${status}`)).toEqual([
        "a cancelled",
        "b cancelled",
        "c cancelled",
      ]);
      expect(await tasks.cancel("a")).toBe(false);
    });
  });

  test("that is parked stays running in its record, and goes on from there", async () => {
    await inWorld(async ({ tasks, work, stored }) => {
      await tasks.start(record("a"));
      await tasks.park();
      expect(await stored("a")).toBe("running");
      await tasks.continue("a");
      work.end("a", { way: "completed", text: "done" });
      await tasks.wait("a", ended);
      expect(work.steps).toEqual([
        "open a",
        "start a",
        "close a",
        "open a",
        "continue a",
        "ending a completed",
        "ended a completed",
        "close a",
      ]);
    });
  });

  test("in the background notifies its owner once, and not when its result was read", async () => {
    await inWorld(async ({ tasks, work, notices }) => {
      await tasks.start(record("a"));
      work.end("a", { way: "completed", text: "done" });
      await tasks.settled();
      expect(notices()).toEqual(["notice-a"]);
      await tasks.wait("a", ended);
      expect(notices()).toEqual([]);
    });
  });
});
