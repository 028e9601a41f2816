import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { skillFolders } from "../skills/catalog.ts";
import { readSkill } from "../skills/skill.ts";
import { readInstructions } from "../workspace/instructions.ts";
import { slashCommandInfos } from "./slash-commands.ts";

const page = readFileSync(new URL("../../../../docs/instructions.md", import.meta.url), "utf8");

function inFolder(files: Record<string, string>, use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "retinue-page-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function table(): string {
  const rows = slashCommandInfos().map(({ name, aliases = [], input, description, allowDuringAgentExecution }) => {
    const names = [name, ...aliases].map((each) => `\`/${each}\``).join(", ");
    const takes = input ? `${input.hint}${input.required ? "" : " (optional)"}`.replaceAll("|", "\\|") : "";
    return `| ${names} | ${takes} | ${description} | ${allowDuringAgentExecution ? "yes" : ""} |`;
  });
  return ["| command | takes | does | while it works |", "|---|---|---|---|", ...rows].join("\n");
}

test("docs/instructions.md has every slash command as it is", () => {
  expect(page).toContain(`\n\n${table()}\n\n`);
});

test("docs/instructions.md names the instruction files in the order in which they are read, and how much of one counts", () => {
  const [, list = ""] = /these files are read: (.+)\. Their texts/.exec(page) ?? [];
  const names = [...list.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  expect(names).toHaveLength(3);
  inFolder(Object.fromEntries(names.map((each) => [each, `from ${each}`])), (folder) => {
    const { text } = readInstructions({ enableConfigDiscovery: true }, folder, undefined);
    expect([...(text([]) ?? "").matchAll(/from (.+)/g)].map(([, name]) => name)).toEqual(names);
  });
  const [, limit = ""] = /counts up to ([\d,]+) characters/.exec(page) ?? [];
  inFolder({ "AGENTS.md": "x".repeat(200_000) }, (folder) => {
    const { text, warnings } = readInstructions({ enableConfigDiscovery: true }, folder, undefined);
    expect(text([])?.match(/x+/g)?.at(-1)).toHaveLength(Number(limit.replace(",", "")));
    expect(warnings).toHaveLength(1);
  });
});

test("docs/instructions.md names the folders of skills in their order, and every field of their head", () => {
  const options = {
    skillDirectories: ["given"],
    plugins: [{ source: "plugin" as const, path: "/plugin/skills" }],
    home: "/home",
    workingDirectory: "/work",
  };
  const project = { folder: "/work", root: "/work" };
  const folders = skillFolders({ ...options, enableConfigDiscovery: true, project }).map(({ path }) => path);
  expect(folders).toEqual([
    "/work/given",
    "/home/skills",
    "/plugin/skills",
    "/work/.retinue/skills",
    "/work/.github/skills",
    "/work/.claude/skills",
  ]);
  const places = [
    "`skillDirectories`",
    "`skills/` in the home folder",
    "`skills/` of plugins",
    "`.retinue/skills`, `.github/skills`, then `.claude/skills`",
  ];
  const found = places.map((words) => page.indexOf(words));
  expect(found.every((at) => at > 0)).toBe(true);
  expect([...found].sort((a, b) => a - b)).toEqual(found);
  const [, example = ""] = /```markdown\n([\s\S]+?)```/.exec(page) ?? [];
  inFolder({ "s/SKILL.md": example }, (folder) => {
    expect(readSkill(join(folder, "s/SKILL.md"), { source: "custom" })).toMatchObject({
      name: "release-notes",
      argumentHint: "the version",
      userInvocable: true,
      disableModelInvocation: false,
      allowedTools: [],
    });
  });
});
