/** The sign-in to a server that is kept in the home folder, without anybody who could be asked for another. Loads what it needs for it. */
import type { McpServerConfig } from "@retinue/protocol";
import type { ServerSignIn } from "./server-sign-in.ts";

export async function signInAtHome(
  home: string,
  name: string,
  config: McpServerConfig,
): Promise<ServerSignIn | undefined> {
  if ("command" in config) return undefined;
  const [{ ServerSignIn, wantsSignIn }, { placeInHome }] = await Promise.all([
    import("./server-sign-in.ts"),
    import("./kept-sign-in.ts"),
  ]);
  if (!wantsSignIn(config)) return undefined;
  return new ServerSignIn({ name, config, place: placeInHome(home, { name, config }), now: Date.now });
}
