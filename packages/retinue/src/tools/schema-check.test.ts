import { describe, expect, test } from "vitest";
import { fitAnswer, schemaProblem } from "./schema-check.ts";

const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name"],
  additionalProperties: false,
};

describe("an answer fits a schema", () => {
  test("when the whole of it is JSON, or its one fenced block is", async () => {
    const value = { name: "Ada", age: 36 };
    const json = JSON.stringify(value);
    expect(await fitAnswer(PERSON, `\n${json}\n`)).toEqual({ ok: true, value });
    expect(await fitAnswer(PERSON, `Here it is:\n\`\`\`json\n${json}\n\`\`\`\nDone.`)).toEqual({ ok: true, value });
  });

  test("and does not when it is no JSON, has two blocks, or is another value", async () => {
    const two = '```\n{"name":"a"}\n```\nor\n```\n{"name":"b"}\n```';
    expect(await fitAnswer(PERSON, "the name is Ada")).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/not JSON/),
    });
    expect(await fitAnswer(PERSON, two)).toMatchObject({ ok: false, problem: expect.stringMatching(/not JSON/) });
    expect(await fitAnswer(PERSON, '{"age":1.5}')).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/required property "name"/),
    });
    expect(await fitAnswer(PERSON, '{"name":"a","x":1}')).toMatchObject({ ok: false });
    expect(await fitAnswer(PERSON, `"${"x".repeat(2 ** 20)}"`)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/longer/),
    });
  });

  test("the problem stays short however many there are", async () => {
    const items = JSON.stringify(Array.from({ length: 10_000 }, () => 1));
    const fit = await fitAnswer({ type: "array", items: { type: "string" } }, items);
    expect(fit.ok ? "" : fit.problem.length).toBeLessThan(2100);
  });

  test("a reference that leads nowhere is a problem of the schema and no exception", async () => {
    expect(await fitAnswer({ $ref: "#/$defs/none" }, "1")).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/schema cannot be used/),
    });
  });
});

test("a schema that nobody could mean is refused with the place", () => {
  expect(schemaProblem(PERSON)).toBeUndefined();
  expect(schemaProblem({ properties: { a: { items: { type: "strng" } } } })).toBe(
    '"properties.a.items.type": expected object, array, string, number, integer, boolean, null or a list of these',
  );
  expect(schemaProblem({ pattern: "(" })).toContain("pattern");
  expect(schemaProblem({ $ref: "https://example.com/other.json" })).toContain("$ref");
  expect(schemaProblem({ $schema: "http://json-schema.org/draft-03/schema" })).toContain("$schema");
  expect(schemaProblem(7)).toContain("it is no JSON Schema");
  expect(schemaProblem({ patternProperties: { "(": {} } })).toContain("patternProperties");
  expect(schemaProblem({ prefixItems: [{ type: "strng" }] })).toContain("prefixItems");
  expect(schemaProblem({ minimum: "5" })).toContain("minimum");
  let deep: object = {};
  for (let level = 0; level < 20_000; level++) deep = { not: deep };
  expect(schemaProblem(deep)).toContain("deeper");
});

test("a pattern that takes for ever is a problem after a moment", async () => {
  const fit = await fitAnswer({ type: "string", pattern: "^(a+)+$" }, JSON.stringify(`${"a".repeat(60)}!`));
  expect(fit).toMatchObject({ ok: false, problem: expect.stringMatching(/timed out/) });
});

describe("the references of a schema", () => {
  test("may lead to itself one level down, to an anchor, and to what data looks like", () => {
    const tree = { type: "object", properties: { below: { type: "array", items: { $ref: "#/$defs/a~1b" } } } };
    expect(schemaProblem({ $ref: "#/$defs/a~1b", $defs: { "a/b": tree } })).toBeUndefined();
    expect(schemaProblem({ items: { $ref: "#name" }, $defs: { a: { $anchor: "name" } } })).toBeUndefined();
    expect(schemaProblem({ properties: { $ref: { const: { $ref: "#/none" } } } })).toBeUndefined();
  });

  test("are refused where they lead nowhere or back without an end", () => {
    expect(schemaProblem({ properties: { a: { $ref: "#/$defs/b" } } })).toBe(
      '"properties.a.$ref": "#/$defs/b" leads to no schema',
    );
    expect(schemaProblem({ $ref: "#" })).toContain("back to itself");
    const defs = { a: { anyOf: [{ type: "null" }, { $ref: "#/$defs/b" }] }, b: { allOf: [{ $ref: "#/$defs/a" }] } };
    expect(schemaProblem({ properties: { x: { $ref: "#/$defs/a" } }, $defs: defs })).toContain("$defs.");
  });

  test("are followed once each, however long they are", () => {
    const names = Array.from({ length: 20_000 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]);
    const $defs = Object.fromEntries([...names, ["d20000", { type: "string" }]]);
    expect(schemaProblem({ $ref: "#/$defs/d0", $defs })).toBeUndefined();
    expect(schemaProblem({ $defs: { ...$defs, d20000: { $ref: "#/$defs/d0" } } })).toContain("back to itself");
  });
});
