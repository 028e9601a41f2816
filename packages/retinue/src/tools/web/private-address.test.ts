import fc from "fast-check";
import { expect, test } from "vitest";
import { isPrivateAddress } from "./private-address.ts";

test.each([
  ["this network", "0.0.0.0 0.0.0.1 0.255.255.255"],
  ["loopback", "127.0.0.1 127.255.255.255 ::1 0:0:0:0:0:0:0:1"],
  ["private", "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255"],
  ["unique local", "fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["carrier-grade NAT", "100.64.0.0 100.127.255.255"],
  ["link-local", "169.254.0.0 169.254.169.254 169.254.255.255 fe80::1 fe80::1%eth0 febf:ffff::"],
  ["site-local, of old", "fec0::1 feff::1"],
  ["multicast", "224.0.0.0 239.255.255.255 ff00:: ff02::1 ffff::"],
  ["reserved", "240.0.0.0 255.255.255.254 255.255.255.255 192.0.0.0 192.0.0.255 192.88.99.0 ::"],
  ["documentation", "192.0.2.0 198.51.100.1 203.0.113.255 2001:db8::1 3fff::1 3fff:fff:ffff::1"],
  ["benchmarks", "198.18.0.0 198.19.255.255 2001:2::1"],
  ["services of the network itself", "192.31.196.1 192.52.193.1 192.175.48.1 2001:3::1 2001:4:112::1 2620:4f:8000::1"],
  ["IETF protocols", "2001:1::1 2001:10::1 2001:20::1 2001:30::1 5f00::1"],
  ["discarded", "100:: 100::ffff:ffff:ffff:ffff"],
  ["IPv4-mapped, when the IPv4 address is", "::ffff:10.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:a9fe:a9fe"],
  ["IPv4-compatible", "::127.0.0.1 ::7f00:1 ::8.8.8.8"],
  ["IPv4-translated", "::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8"],
  ["NAT64", "64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::7f00:1 64:ff9b:1:ffff::1"],
  ["6to4", "2002:7f00:1:: 2002:808:808::"],
  ["Teredo", "2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  ["outside what IPv6 has assigned so far", "4000::1 8000::1 e000::1 100:0:0:1::1 ::2:0:0:1"],
])("%s addresses are private", (_, addresses) => {
  expect(addresses.split(" ").filter((address) => !isPrivateAddress(address))).toEqual([]);
});

test("addresses of the public internet are not private", () => {
  const addresses =
    "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8 ::ffff:808:808 2001:4860:4860::8888 2606:4700::1111 2a00:1450::1 2400::1";
  expect(addresses.split(" ").filter(isPrivateAddress)).toEqual([]);
});

test.each([
  "127.1",
  "0177.0.0.1",
  "017700000001",
  "0x7f.1",
  "0x8080808",
  "2130706433",
  "134744072",
  "8.8.2056",
  "010.8.8.8",
])("%s is no address in its usual form, and is refused whatever it may mean", (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each(["", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.1.1.1 ", "[::1]", "::ffff:1.2.3", "g::1"])(
  "%j is no address at all, and is refused",
  (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  },
);

test("an IPv4 address is private in every way to write it into an IPv6 address, or in none that is let through", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isPrivateAddress(`::ffff:${address}`)).toBe(isPrivateAddress(address));
      for (const prefix of ["::", "::ffff:0:", "64:ff9b::"]) expect(isPrivateAddress(prefix + address)).toBe(true);
    }),
    { numRuns: 500 },
  );
});
