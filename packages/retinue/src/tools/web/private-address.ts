/** Which IP addresses are not on the public internet: this machine, private and link-local networks, and reserved ranges. */
import { BlockList, isIPv6 } from "node:net";

const V4 = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24",
  "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
];
/** The later ones can carry an IPv4 address inside. */
const V6 = [
  "::/128 ::1/128 fc00::/7 fe80::/10 fec0::/10 ff00::/8 100::/64 2001:db8::/32",
  "::/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2002::/16",
];

const blocked = new BlockList();
const add = (ranges: readonly string[], type: "ipv4" | "ipv6") => {
  for (const range of ranges.join(" ").split(" ")) {
    const [network = "", prefix] = range.split("/");
    blocked.addSubnet(network, Number(prefix), type);
  }
};
add(V4, "ipv4");
add(V6, "ipv6");

export function isPrivateAddress(address: string): boolean {
  if (!isIPv6(address)) return blocked.check(address, "ipv4");
  // Node checks ::ffff:a.b.c.d against the IPv4 rules by itself.
  return blocked.check(address.replace(/%.*$/, ""), "ipv6");
}
