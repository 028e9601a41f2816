/**
 * Which IP addresses are not on the public internet: this machine, private and link-local networks, and reserved ranges.
 *
 * ipaddr.js knows the special ranges. What it takes for an ordinary address is let through only where IPv6 has ordinary addresses.
 */
import { isIP, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

/** Everything that IPv6 has assigned to the public internet. Outside are IPv4-compatible addresses, among others. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

export function isPrivateAddress(address: string): boolean {
  // ipaddr.js also reads short, octal and hexadecimal IPv4 addresses. No resolver answers with one, so none is let through.
  if (!isIP(address)) return true;
  const parsed = parse(address);
  if (parsed.range() !== "unicast") return true;
  return parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_UNICAST);
}

/** In the network of a house or a company; neither this machine nor what only the machines beside it can reach. */
export function isInPrivateNetwork(address: string): boolean {
  return isIP(address) !== 0 && ["private", "uniqueLocal", "carrierGradeNat"].includes(parse(address).range());
}

/** An IPv4-mapped address comes out as the IPv4 address. */
const parse = (address: string) => ipaddr.process(isIPv6(address) ? inGroups(address) : address);

/** Without a dotted end, because ipaddr.js reads `::8.8.8.8` as if it were `::ffff:8.8.8.8`; and without a zone. */
function inGroups(address: string): string {
  return new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
}
