/**
 * Every option of a session is read by the runtime, or is in the list of those that have no effect yet; and every option of the SDK
 * says in a doc comment what it does and what happens without it.
 */
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

/** Interfaces whose members a program writes. */
const OPTIONS = [
  ...[
    "ModelOptions",
    "ToolOptions",
    "ConsentOptions",
    "PlaceOptions",
    "PlainOptions",
    "ForeignOptions",
    "CustomAgentConfig",
  ],
  ...["SessionConfigBase", "SessionConfig", "ResumeSessionConfig"],
  ...["RetinueClientOptions", "LaunchOptions", "TelemetryConfig", "WaitLimits", "StreamOptions"],
];
const FILES = /^packages\/sdk\/src\/(session-options|session-config|client|launch|message|stream)\.ts$/;
/** What follows from an option that is not given. */
const WITHOUT = /Default: |no effect in Retinue yet|In Retinue (they|it) always|Only for other runtimes/;

/** By interface: each member with the doc comment before it. */
function membersIn(source: Source): { of: string; name: string; isOptional: boolean; comment: string }[] {
  const found: ReturnType<typeof membersIn> = [];
  visit(source, {
    TSInterfaceDeclaration: ({ id, body }) => {
      for (const member of body.body) {
        if (member.type !== "TSPropertySignature" || member.key.type !== "Identifier") continue;
        const before = source.text.slice(0, member.start).trimEnd();
        const comment = before.endsWith("*/") ? before.slice(before.lastIndexOf("/**")) : "";
        found.push({ of: id.name, name: member.key.name, isOptional: member.optional, comment });
      }
    },
  });
  return found;
}

describe("options of the SDK", () => {
  const members = shipped
    .filter(({ file }) => FILES.test(file))
    .flatMap(membersIn)
    .filter((member) => OPTIONS.includes(member.of));

  test("have a doc comment that says what they do, and what happens without them", () => {
    const silent = members.filter(
      ({ comment, isOptional }) => comment === "" || (isOptional && !WITHOUT.test(comment)),
    );
    expect(silent.map(({ of, name }) => `${of}.${name}`)).toEqual([]);
    expect(new Set(members.map((member) => member.of))).toEqual(new Set(OPTIONS));
  });

  test("have a line for each option that goes over the wire", () => {
    const renamed = ["configDir", "hooksOnError", "envValueMode", "toolFilterPrecedence", "disableResume"];
    const written = new Set(members.map(({ name }) => name));
    const wire = Object.keys(ResumeSession().shape).filter((name) => !name.startsWith("request"));
    expect(wire.filter((name) => !written.has(name) && !renamed.includes(name))).toEqual([]);
  });
});
