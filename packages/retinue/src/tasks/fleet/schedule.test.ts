import { expect, test } from "vitest";
import { type Graph, Schedule, type Standing } from "./schedule.ts";

const OPEN: Standing = { type: "open" };

function graph(
  ids: readonly string[],
  deps: readonly [string, string][],
  special: Record<string, Standing> = {},
): Graph {
  return {
    todos: new Map(ids.map((id) => [id, special[id] ?? OPEN])),
    deps: deps.map(([todoId, dependsOn]) => ({ todoId, dependsOn })),
  };
}

test("only todos whose dependencies are done can start, and each is taken once", () => {
  const schedule = new Schedule(
    graph(
      ["a", "b", "c"],
      [
        ["c", "a"],
        ["c", "b"],
      ],
    ),
  );
  expect(schedule.take(9)).toEqual(["a", "b"]);
  expect(schedule.take(9)).toEqual([]);
  schedule.done("a");
  expect(schedule.take(9)).toEqual([]);
  schedule.done("b");
  expect(schedule.take(9)).toEqual(["c"]);
  schedule.done("c");
  expect(schedule.progress).toEqual({ total: 3, done: 3, running: 0, failed: 0, blocked: 0, pending: 0 });
});

test("a todo that is tried again can be taken again, after the others", () => {
  const schedule = new Schedule(graph(["a", "b", "c"], []));
  expect(schedule.take(1)).toEqual(["a"]);
  schedule.again("a");
  expect(schedule.take(9)).toEqual(["b", "c", "a"]);
});

test("what depends on a todo that is given up is blocked with its reason, however far away, and nothing else is", () => {
  const schedule = new Schedule(
    graph(
      ["a", "b", "c", "d"],
      [
        ["b", "a"],
        ["c", "b"],
      ],
    ),
  );
  schedule.take(1);
  expect(schedule.fail("a", "no luck")).toEqual([
    { id: "b", reason: "It waits for a, which is blocked: no luck" },
    { id: "c", reason: "It waits for a, which is blocked: no luck" },
  ]);
  expect(schedule.take(9)).toEqual(["d"]);
});

test("the todos of a cycle and those behind it are blocked, and the cycle is named", () => {
  const schedule = new Schedule(
    graph(
      ["a", "b", "c", "after", "free", "self"],
      [
        ["a", "b"],
        ["b", "c"],
        ["c", "a"],
        ["after", "b"],
        ["self", "self"],
      ],
    ),
  );
  const reasons = new Map(schedule.blockedByGraph.map(({ id, reason }) => [id, reason]));
  expect(reasons.get("a")).toBe("It waits for itself: a → b → c → a.");
  expect(reasons.get("self")).toBe("It waits for itself: self → self.");
  expect(reasons.get("after")).toMatch(/^It waits for [abc], which is blocked/);
  expect([...reasons.keys()].sort()).toEqual(["a", "after", "b", "c", "self"]);
  expect(schedule.take(9)).toEqual(["free"]);
});

test("a todo behind somebody else's work is neither started nor blocked", () => {
  const schedule = new Schedule(graph(["theirs", "mine", "x"], [["mine", "theirs"]], { theirs: { type: "outside" } }));
  expect(schedule.take(9)).toEqual(["x"]);
  schedule.done("x");
  expect(schedule.hasReady).toBe(false);
  expect(schedule.progress).toMatchObject({ total: 2, done: 1, pending: 1 });
});

test("a dependency that is not there blocks, in words", () => {
  const schedule = new Schedule(graph(["a"], [["a", "gone"]]));
  expect(schedule.blockedByGraph).toEqual([{ id: "a", reason: "It depends on gone, which is not there." }]);
});

/** The rule itself, asked anew after every step. */
function mayStart(id: string, { todos, deps }: Graph, done: ReadonlySet<string>): boolean {
  return todos.has(id) && deps.every(({ todoId, dependsOn }) => todoId !== id || done.has(dependsOn));
}

test("in random graphs every todo that can ever run is run once, after its dependencies, and the rest is blocked", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 200; round++) {
    const ids = Array.from({ length: 2 + random(12) }, (_, index) => `t${index}`);
    const pick = () => ids[random(ids.length)] ?? "t0";
    const pairs = new Map(
      Array.from({ length: random(2 * ids.length) }, () => [pick(), pick()] as [string, string]).map((pair) => [
        pair.join(),
        pair,
      ]),
    );
    const all = graph(ids, [...pairs.values()]);
    const schedule = new Schedule(all);
    const blocked = new Set(schedule.blockedByGraph.map(({ id }) => id));
    const done = new Set<string>();
    const given = new Set<string>();
    for (;;) {
      const taken = schedule.take(1 + random(3));
      if (taken.length === 0) break;
      for (const id of taken) {
        expect(mayStart(id, all, done) && !done.has(id)).toBe(true);
        if (random(6) === 0) {
          given.add(id);
          for (const each of schedule.fail(id, "no")) blocked.add(each.id);
        } else {
          done.add(id);
          schedule.done(id);
        }
      }
    }
    expect([...done, ...given, ...blocked].sort()).toEqual([...ids].sort());
    expect(schedule.progress).toMatchObject({
      done: done.size,
      failed: given.size,
      blocked: blocked.size,
      pending: 0,
      running: 0,
    });
  }
});

test("a chain and a star of ten thousand todos look at each dependency a bounded number of times", () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => `t${index}`);
  let looks = 0;
  const counted = (deps: Graph["deps"]): Graph["deps"] =>
    deps.map((dep) => ({
      get todoId() {
        looks++;
        return dep.todoId;
      },
      dependsOn: dep.dependsOn,
    }));
  const chain = ids.slice(1).map((todoId, index) => ({ todoId, dependsOn: ids[index] ?? "" }));
  const schedule = new Schedule({ todos: new Map(ids.map((id) => [id, OPEN])), deps: counted(chain) });
  let steps = 0;
  for (let [id] = schedule.take(16); id !== undefined; [id] = schedule.take(16), steps++) schedule.done(id);
  expect(steps).toBe(10_000);
  expect(looks).toBe(chain.length);
  const star = ids.slice(1).map((todoId) => ({ todoId, dependsOn: "t0" }));
  const failing = new Schedule({ todos: new Map(ids.map((id) => [id, OPEN])), deps: star });
  failing.take(1);
  expect(failing.fail("t0", "no")).toHaveLength(9_999);
});
