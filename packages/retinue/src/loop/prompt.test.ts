import type { SystemMessageConfig } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { toolset } from "./agent.ts";
import { type PromptSurroundings, systemPrompt, toolsChangedNotice } from "./prompt.ts";

const tools = toolset([]);
const here: PromptSurroundings = {
  workingDirectory: "/work",
  sessionFolder: "/home/s",
  environment: { workingDirectory: "/work", date: "2026-11-17", system: "linux 6.1 x64" },
  mode: "interactive",
  customInstructions: "Use tabs.",
};
const at = (text: string, piece: string) => text.indexOf(piece);

describe("the system prompt", () => {
  test("names the folders, and has the project's instructions before those of the role", async () => {
    const text = await systemPrompt(tools, { ...here, agentInstructions: "# Your role: Finder" });
    expect(text).toContain("/work");
    expect(text).toContain("/home/s");
    expect(at(text, "Use tabs.")).toBeGreaterThan(0);
    expect(at(text, "# Your role: Finder")).toBeGreaterThan(at(text, "Use tabs."));
  });

  test.each([
    [{ branch: "main", isClean: true }, "/work, on the branch main, with nothing changed when this session began"],
    [{ branch: "main", isClean: false }, "/work, on the branch main, with changes that are not committed when this"],
    [{ branch: "main" }, "/work, on the branch main\n"],
    [{}, "- Git repository: /work\n"],
    [{ branch: "main", workingDirectory: "/elsewhere" }, "- Git repository: /work\n"],
  ])("says of a repository what is known of it: %j", async (found, words) => {
    const environment = { ...here.environment, shell: "zsh", ...found };
    const text = await systemPrompt(tools, { ...here, environment, gitRoot: "/work" });
    expect(text).toContain(words);
    expect(text).toContain(
      "- System: linux 6.1 x64; the user's shell is zsh\n- Date: 2026-11-17, when this session began",
    );
  });

  test("can be appended to, or replaced as a whole", async () => {
    const plain = await systemPrompt(tools, here);
    expect(await systemPrompt(tools, here, { config: { mode: "append", content: "And this." } })).toBe(
      `${plain}\n\nAnd this.`,
    );
    expect(await systemPrompt(tools, here, { config: { mode: "replace", content: "Only this." } })).toBe("Only this.");
  });

  test("can be changed section by section, and the other sections stay", async () => {
    const plain = await systemPrompt(tools, here);
    const config: SystemMessageConfig = {
      mode: "customize",
      content: "At the end.",
      sections: {
        identity: { action: "replace", content: "You are a test." },
        tone: { action: "remove" },
        custom_instructions: { action: "append", content: "Use spaces." },
        safety: { action: "prepend", content: "First of all:" },
        guidelines: { action: "preserve" },
      },
    };
    const text = await systemPrompt(tools, here, { config });
    expect(text.startsWith("You are a test.")).toBe(true);
    expect(text.endsWith("At the end.")).toBe(true);
    expect(text).toContain("Use tabs.\n\nUse spaces.");
    expect(text).toContain("First of all:\n\n");
    const environment = plain.slice(at(plain, "# Environment"), at(plain, "- System:"));
    expect(text).toContain(environment);
  });

  test("gives a section to the host to transform, and changes only that section", async () => {
    const asked: string[][] = [];
    const text = await systemPrompt(tools, here, {
      config: { mode: "customize", sections: { custom_instructions: { action: "transform" } } },
      transform: async (sections) => {
        asked.push(Object.keys(sections));
        return {
          custom_instructions: { content: `${sections.custom_instructions?.content} And commas.` },
          identity: { content: "stolen" },
        };
      },
    });
    expect(asked).toEqual([["custom_instructions"]]);
    expect(text).toContain("Use tabs. And commas.");
    expect(text).not.toContain("stolen");
  });

  test("says in plan mode where to write the plan, and in autopilot how to end", async () => {
    expect(await systemPrompt(tools, { ...here, mode: "plan" })).toContain("/home/s/plan.md");
    expect(await systemPrompt(tools, { ...here, mode: "autopilot" })).toContain("task_complete");
    expect(await systemPrompt(tools, here)).not.toContain("task_complete");
  });
});

test("the model reads which tools were added and removed since the last notice, and nothing the first time", async () => {
  await inSmallWorld([], async ({ create, runtime }) => {
    const { main } = runtime.sessions.get(await create());
    const all = (await main.kit.tools()).tools.slice(0, 3);
    const [first, second, third] = all.map(({ name }) => name);
    const notice = (...tools: number[]) => toolsChangedNotice(main, toolset(all.filter((_, at) => tools.includes(at))));
    expect(notice(0, 1)).toBeUndefined();
    expect(notice(0, 1)).toBeUndefined();
    expect(notice(1, 2)).toBe(
      `<tools_changed_notice>\nNow available: ${third}\nNo longer available: ${first}\n</tools_changed_notice>`,
    );
    expect(notice(2)).toContain(`No longer available: ${second}`);
  });
});
