/** What every store must do with context boards. Each implementation runs this suite with a function that opens an empty store. */
import { describe, expect, test } from "vitest";
import type { BoardChange, BoardPlace } from "./boards.ts";
import type { Store } from "./store.ts";

const HERE: BoardPlace = { repository: "/work/repo", branch: "main" };
const WIDE = { entries: 100, bytes: 100_000 };

const note = (text: string, more: { at?: number; agent?: string; sessionId?: string } = {}) => ({
  text,
  at: 1,
  agent: "main",
  ...more,
});

export function boardsContract(name: string, open: () => Store): void {
  const withBoards = (work: (boards: Store["boards"]) => Promise<void>) => async () => {
    const store = open();
    try {
      await work(store.boards);
    } finally {
      await store.close();
    }
  };
  const textsOf = async (boards: Store["boards"], place = HERE) => (await boards.read(place)).map(({ text }) => text);
  const adding = (texts: readonly string[], bounds = WIDE): BoardChange => ({
    add: texts.map((text) => note(text)),
    bounds,
  });

  describe(`${name}: boards`, () => {
    test(
      "keep entries in the order in which they were added, with who wrote them",
      withBoards(async (boards) => {
        const { added } = await boards.change(HERE, {
          add: [note("first", { at: 5, agent: "rem-agent", sessionId: "s1" }), note("second")],
          bounds: WIDE,
        });
        expect(await boards.read(HERE)).toEqual(added);
        expect(added[0]).toEqual({ id: added[0]?.id, text: "first", at: 5, agent: "rem-agent", sessionId: "s1" });
        expect(added[1]).not.toHaveProperty("sessionId");
      }),
    );

    test(
      "are apart for each repository and branch, whatever characters a branch has",
      withBoards(async (boards) => {
        const odd = { ...HERE, branch: "feature/ä'; DROP TABLE--%_" };
        await boards.change(HERE, adding(["on main"]));
        await boards.change(odd, { add: [note("on odd", { at: 9 })], bounds: WIDE });
        await boards.change({ repository: "/work/other", branch: "main" }, adding(["elsewhere"]));
        expect([await textsOf(boards), await textsOf(boards, odd)]).toEqual([["on main"], ["on odd"]]);
        expect(await boards.branches(HERE.repository)).toEqual([
          { branch: odd.branch, entries: 1 },
          { branch: "main", entries: 1 },
        ]);
      }),
    );

    test(
      "lose the oldest entries when there are too many, or too many bytes",
      withBoards(async (boards) => {
        const { pruned } = await boards.change(HERE, adding(["a", "b", "c"], { entries: 2, bytes: 100 }));
        expect([pruned.map(({ text }) => text), await textsOf(boards)]).toEqual([["a"], ["b", "c"]]);
        await boards.change(HERE, adding(["ää"], { entries: 9, bytes: 5 }));
        expect(await textsOf(boards)).toEqual(["c", "ää"]);
      }),
    );

    test(
      "keep one entry of a text that is added again, as the newest and under its id",
      withBoards(async (boards) => {
        const { added } = await boards.change(HERE, adding(["a", "b"]));
        const again = await boards.change(HERE, { add: [note("a", { at: 7, agent: "explore" })], bounds: WIDE });
        expect(again.added).toEqual([{ id: added[0]?.id, text: "a", at: 7, agent: "explore" }]);
        expect(await textsOf(boards)).toEqual(["b", "a"]);
      }),
    );

    test(
      "take entries away by id and say which were there, and an id is never given again",
      withBoards(async (boards) => {
        const { added } = await boards.change(HERE, adding(["a", "b"]));
        const [first, second] = added.map(({ id }) => id) as [string, string];
        const { removed } = await boards.change(HERE, { remove: [second, "note-999", "x"], bounds: WIDE });
        expect(removed.map(({ id }) => id)).toEqual([second]);
        const { added: next } = await boards.change(HERE, adding(["c"]));
        expect([first, second]).not.toContain(next[0]?.id);
        const elsewhere = await boards.change({ ...HERE, branch: "b" }, { remove: [first], bounds: WIDE });
        expect([elsewhere.removed, await textsOf(boards)]).toEqual([[], ["a", "c"]]);
      }),
    );

    test(
      "are cleared one at a time",
      withBoards(async (boards) => {
        const other = { ...HERE, branch: "b" };
        await boards.change(HERE, adding(["a", "b"]));
        await boards.change(other, adding(["c"]));
        expect([await boards.clear(HERE), await boards.clear(HERE)]).toEqual([2, 0]);
        expect([await textsOf(boards), await textsOf(boards, other)]).toEqual([[], ["c"]]);
      }),
    );

    test(
      "have one claim, which is exchanged only by who knows it",
      withBoards(async (boards) => {
        const [one, two] = [
          { id: "1", json: "{}" },
          { id: "2", json: "[]" },
        ];
        expect(await boards.exchangeClaim(HERE, { expected: undefined, next: one })).toBe(true);
        expect(await boards.exchangeClaim(HERE, { expected: undefined, next: two })).toBe(false);
        expect(await boards.claim(HERE)).toEqual(one);
        expect(await boards.exchangeClaim(HERE, { expected: "1", next: two })).toBe(true);
        expect(await boards.exchangeClaim(HERE, { expected: "1", next: undefined })).toBe(false);
        expect(await boards.exchangeClaim(HERE, { expected: "2", next: undefined })).toBe(true);
        expect(await boards.claim(HERE)).toBeUndefined();
      }),
    );
  });
}
