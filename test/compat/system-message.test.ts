/** The system message: what a host may add, replace and rewrite. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

async function systemOf(talk: Talk): Promise<string> {
  await talk.ask("hi");
  return talk.model.lastRequest.system;
}

test("there is a system message without any wish, and the event shows it", async () => {
  await using talk = await openTalk(world);
  const system = await systemOf(talk);
  expect(system.length).toBeGreaterThan(100);
  expect(talk.record.one("system.message").data).toMatchObject({ content: system, role: "system" });
});

test("content is added to the message by default and with append", async () => {
  await using plain = await openTalk(world, { systemMessage: { content: "ALWAYS RHYME" } });
  await using append = await openTalk(world, { systemMessage: { mode: "append", content: "ALWAYS RHYME" } });
  for (const system of [await systemOf(plain), await systemOf(append)]) {
    expect(system).toContain("ALWAYS RHYME");
    expect(system.length).toBeGreaterThan(200);
  }
});

test("replace leaves exactly the given text", async () => {
  await using talk = await openTalk(world, { systemMessage: { mode: "replace", content: "You are a parrot." } });
  expect(await systemOf(talk)).toBe("You are a parrot.");
});

test("customize replaces, extends and removes single sections", async () => {
  await using talk = await openTalk(world, {
    systemMessage: {
      mode: "customize",
      sections: {
        tone: { action: "replace", content: "TONE OF A SAILOR" },
        guidelines: { action: "append", content: "GUIDELINE AT THE END" },
        safety: { action: "prepend", content: "SAFETY FIRST" },
        code_change_rules: { action: "remove" },
      },
      content: "AND ONE MORE THING",
    },
  });
  const system = await systemOf(talk);
  for (const text of ["TONE OF A SAILOR", "GUIDELINE AT THE END", "SAFETY FIRST", "AND ONE MORE THING"]) {
    expect(system).toContain(text);
  }
});

test("a removed section is gone", async () => {
  const without = { mode: "customize" as const, sections: { environment_context: { action: "remove" as const } } };
  await using full = await openTalk(world);
  await using less = await openTalk(world, { systemMessage: without });
  expect((await systemOf(less)).length).toBeLessThan((await systemOf(full)).length);
  expect(await systemOf(full)).toContain(world.folder);
});

test("a section can be rewritten by the host", async () => {
  const seen: string[] = [];
  await using talk = await openTalk(world, {
    systemMessage: {
      mode: "customize",
      sections: {
        identity: {
          action: (content: string) => {
            seen.push(content);
            return "I AM SOMEBODY ELSE";
          },
        },
      },
    },
  });
  expect(await systemOf(talk)).toContain("I AM SOMEBODY ELSE");
  expect(seen).toHaveLength(1);
  expect(seen[0]?.length).toBeGreaterThan(0);
});

test("content for an unknown section is added at the end instead of being lost", async () => {
  const sections = { no_such_section: { action: "replace" as const, content: "KEPT ANYWAY" } };
  await using talk = await openTalk(world, { systemMessage: { mode: "customize", sections: sections as object } });
  expect(await systemOf(talk)).toContain("KEPT ANYWAY");
});
