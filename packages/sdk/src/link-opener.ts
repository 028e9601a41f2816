/**
 * Opens a connection of any kind.
 *
 * What needs Node (processes, sockets) is in spawn.ts and loaded only when it is used, so that this file runs in a browser.
 */
import type { RuntimeConnection } from "./connection.ts";
import type { LaunchOptions } from "./launch.ts";
import type { Link } from "./link.ts";

export async function openLink(connection: RuntimeConnection, options: LaunchOptions): Promise<Link> {
  if (connection.kind === "transport") {
    const open = async () => connection.open();
    return { transport: await open(), token: connection.connectionToken, reopen: open };
  }
  const { launchStdio, launchTcp, connectUri } = await import("./spawn.ts");
  if (connection.kind === "stdio") return launchStdio(connection, options);
  return connection.kind === "tcp" ? launchTcp(connection, options) : connectUri(connection);
}
