/** `retinue mcp login` and `logout`. */
import { command } from "./command.ts";
import { home } from "./shared-fields.ts";
import { flag, text, unlessTurnedOff } from "./values.ts";

const load = () => import("../mcp-sign-in.ts");

const name = { term: "<name>", about: "the server", is: text };

export const login = command({
  name: "login",
  summary: "sign in to an MCP server with a browser, for all sessions of yours",
  more: "The address is always printed; a browser opens only at a terminal. BROWSER names the program for it (none: no program).",
  fields: {
    name,
    browser: { term: "--no-browser", about: "only print the address", is: unlessTurnedOff },
    again: { term: "--again", about: "sign in anew, even if the server lets you in", is: flag },
    clientSecretStdin: {
      term: "--client-secret-stdin",
      about: "read the secret of the configured client from standard input, and keep it",
      is: flag,
    },
    home,
  },
  examples: ["retinue mcp login tracker"],
  async run({ name: named, ...flags }, context) {
    return await (await load()).login(named, flags, context);
  },
});

export const logout = command({
  name: "logout",
  summary: "forget the sign-in to an MCP server",
  fields: { name, home },
  examples: ["retinue mcp logout tracker"],
  async run({ name: named, ...flags }, context) {
    await (await load()).logout(named, flags, context);
  },
});
