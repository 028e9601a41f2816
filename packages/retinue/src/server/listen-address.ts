/** Where a server listens: the address behind the name that was given, and whether only this machine can reach it. */
import { lookup } from "node:dns/promises";
import { BlockList } from "node:net";
import { AppError, messageOf } from "@retinue/protocol/errors";

export interface ListenAddress {
  address: string;
  isLoopback: boolean;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
loopback.addSubnet("::ffff:127.0.0.0", 104, "ipv6");

/** The server listens on the address that was judged, never on the name: a name may mean something else a moment later. */
export async function listenAddress(host: string): Promise<ListenAddress> {
  const name = host.replace(/^\[(.*)\]$/, "$1");
  // Node takes an empty name for every address of the machine.
  if (name.trim() === "") throw new AppError("not_configured", "The host to listen on must not be empty.");
  try {
    const { address, family } = await lookup(name);
    return { address, isLoopback: loopback.check(address, family === 6 ? "ipv6" : "ipv4") };
  } catch (error) {
    throw new AppError("not_configured", `There is no address to listen on for ${host}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
