/** One home for all commands, asked through the executable. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runDaemon } from "../continuity/serve/daemon.ts";
import { askForSessions, type CliWorld, cliWorld } from "./test-world.ts";

const PLACES = ["given", "ours", "theirs", "user/.retinue"] as const;
type Place = (typeof PLACES)[number];

const CASES: readonly {
  says: string;
  expected: Place;
  env: (at: (name: string) => string) => Record<string, string>;
  isGiven?: true;
}[] = [
  {
    says: "--home comes first",
    expected: "given",
    env: (at) => ({ RETINUE_HOME: at("ours"), COPILOT_HOME: at("theirs") }),
    isGiven: true,
  },
  {
    says: "then RETINUE_HOME",
    expected: "ours",
    env: (at) => ({ RETINUE_HOME: at("ours"), COPILOT_HOME: at("theirs") }),
  },
  {
    says: "then COPILOT_HOME, when RETINUE_HOME is empty",
    expected: "theirs",
    env: (at) => ({ RETINUE_HOME: "", COPILOT_HOME: at("theirs") }),
  },
  {
    says: "then ~/.retinue, when both are empty",
    expected: "user/.retinue",
    env: () => ({ RETINUE_HOME: "", COPILOT_HOME: "" }),
  },
];

/** Commands that open the store of their home. */
const OPENING = {
  "sessions list": ["sessions", "list"],
  search: ["search", "zebra"],
  doctor: ["doctor"],
  op: ["op", "session_list"],
} as const;

const openedIn = ({ root }: CliWorld) => PLACES.filter((place) => existsSync(join(root, place)));

describe.each(CASES)("$says", ({ expected, env, isGiven }) => {
  const options = (world: CliWorld) => {
    const at = (name: string) => join(world.root, name);
    return { more: isGiven ? ["--home", at("given")] : [], env: { HOME: at("user"), ...env(at) } };
  };

  test.each(Object.entries(OPENING))("for %s", async (_name, args) => {
    await using world = cliWorld();
    const { more, env: all } = options(world);
    const { code } = await world.run([...args, ...more], { env: all, input: "" });
    expect(code).toBe(0);
    expect(openedIn(world)).toEqual([expected]);
  });

  test.each([[["serve", "--stdio"]], [["--headless", "--stdio"]]])("for %j", async (args) => {
    await using world = cliWorld();
    const { more, env: all } = options(world);
    expect((await askForSessions(world, [...args, ...more], all)).code).toBe(0);
    expect(openedIn(world)).toEqual([expected]);
  });

  test("for daemon status", async () => {
    await using world = cliWorld();
    const { more, env: all } = options(world);
    const daemon = await runDaemon({ home: join(world.root, expected), env: {} });
    const { stdout } = await world.run(["daemon", "status", ...more], { env: all });
    await daemon.close();
    expect(stdout).toBe(`Running: process ${process.pid}, http://127.0.0.1:${daemon.port}\n`);
  });
});

test("connect ends in words where the settings of the other program cannot be written", async () => {
  await using world = cliWorld();
  const { code, stderr } = await world.run(["connect", "claude-code", "--yes"], { env: { HOME: "/proc/none" } });
  expect(code).toBe(1); // Node's own way to make such a folder has no end.
  expect(stderr).toContain("/proc/none");
});
