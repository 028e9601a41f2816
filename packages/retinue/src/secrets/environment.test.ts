import { afterEach, describe, expect, test } from "vitest";
import { CREDENTIAL_VARIABLES, childEnvironment, withhold } from "./environment.ts";

const releases: (() => void)[] = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});
const names = (env: Record<string, string>, more = {}) => Object.keys(childEnvironment(more, env)).sort();

describe("the environment of a child process", () => {
  test("has none of the variables that are read as credentials", () => {
    const env = Object.fromEntries(CREDENTIAL_VARIABLES.map((name) => [name, "x"]));
    expect(names({ ...env, RETINUE_DAEMON_TOKEN: "x", PATH: "/bin", GH_TOKEN: "x", RETINUE_SESSION_KEY: "s" })).toEqual(
      ["GH_TOKEN", "PATH", "RETINUE_SESSION_KEY"],
    );
  });

  test("has an address of a provider only when there is no password in it", () => {
    const env = {
      OPENAI_BASE_URL: "https://a.dev/v1",
      RETINUE_PROVIDER_URL: "https://u:p@a.dev",
      COPILOT_API_URL: "https://a.dev?key=1",
    };
    expect(names(env)).toEqual(["OPENAI_BASE_URL"]);
  });

  test("has no variable that the configuration names, until that is released", () => {
    const release = withhold(() => ({ names: ["SHOP_KEY"], allowed: ["OPENAI_API_KEY"] }));
    expect(names({ SHOP_KEY: "x", OPENAI_API_KEY: "x" })).toEqual(["OPENAI_API_KEY"]);
    release();
    expect(names({ SHOP_KEY: "x", OPENAI_API_KEY: "x" })).toEqual(["SHOP_KEY"]);
  });

  test("has no variable with a telling name while the configuration cannot be read", () => {
    releases.push(
      withhold(() => {
        throw new Error("not JSON");
      }),
    );
    expect(names({ SHOP_API_KEY: "x", DB_PASSWORD: "x", TOKEN_LIMIT: "9", PATH: "/bin" })).toEqual([
      "PATH",
      "TOKEN_LIMIT",
    ]);
  });

  test("has everything that the caller names", () => {
    expect(childEnvironment({ OPENAI_API_KEY: "given" }, { OPENAI_API_KEY: "own" })).toEqual({
      OPENAI_API_KEY: "given",
    });
  });
});
