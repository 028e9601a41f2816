/** The sign-in to a server that is kept in the home folder, without anybody who could be asked for another. Loads what it needs for it. */
import type { McpServerConfig } from "@retinue/protocol";
import type { ServerSignIn } from "./server-sign-in.ts";

/** Nobody would look for it any more. */
export async function forgetSignIn(home: string, name: string, config: McpServerConfig): Promise<void> {
  if ("command" in config) return;
  const [{ placeInHome }, { secretInHome }] = await Promise.all([
    import("./kept-sign-in.ts"),
    import("./client-secret.ts"),
  ]);
  const place = placeInHome(home, { name, config });
  if (place.read()) await place.locked(async () => place.write(undefined));
  secretInHome(home, { name, config }).forget();
}

export async function signInAtHome(
  home: string,
  name: string,
  config: McpServerConfig,
): Promise<ServerSignIn | undefined> {
  if ("command" in config) return undefined;
  const [{ ServerSignIn, wantsSignIn }, { placeInHome }, { secretInHome }] = await Promise.all([
    import("./server-sign-in.ts"),
    import("./kept-sign-in.ts"),
    import("./client-secret.ts"),
  ]);
  if (!wantsSignIn(config)) return undefined;
  const server = { name, config };
  const kept = { place: placeInHome(home, server), secret: secretInHome(home, server) };
  return new ServerSignIn({ ...server, ...kept, now: Date.now });
}
