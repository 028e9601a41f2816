/** Every option of a session is read by the runtime, or is in the list of those that have no effect yet. */
import { ResumeSession } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { UNUSED_OPTIONS } from "../packages/retinue/src/host/unused-options.ts";
import { type Source, shipped, visit } from "./support/sources.ts";

const LIST = "packages/retinue/src/host/unused-options.ts";

/** Names that are read from an object, destructured from one, or written as text. What is only set, or destructured to be dropped, does not count. */
function readIn(source: Source): string[] {
  const names: string[] = [];
  visit(source, {
    MemberExpression: ({ property, computed }) => {
      if (!computed && property.type === "Identifier") names.push(property.name);
    },
    ObjectPattern: ({ properties }) => {
      for (const property of properties) {
        if (property.type !== "Property" || property.key.type !== "Identifier") continue;
        const isDropped = property.value.type === "Identifier" && property.value.name.startsWith("_");
        if (!isDropped) names.push(property.key.name);
      }
    },
    Literal: ({ value }) => {
      if (typeof value === "string") names.push(value);
    },
  });
  return names;
}

describe("session options", () => {
  const runtime = shipped.filter(({ file }) => file.startsWith("packages/retinue/src/") && file !== LIST);
  const read = new Set(runtime.flatMap(readIn));
  const options = Object.keys(ResumeSession().shape);

  test("are read by the runtime, or known to have no effect", () => {
    expect(options.filter((option) => !read.has(option) && !UNUSED_OPTIONS.includes(option))).toEqual([]);
  });

  test("leave the list of those without effect when something reads them", () => {
    expect(UNUSED_OPTIONS.filter((option) => read.has(option) || !options.includes(option))).toEqual([]);
  });
});
