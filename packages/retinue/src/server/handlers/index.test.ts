import { SERVER_METHODS } from "@retinue/protocol";
import { expect, test } from "vitest";
import { handlers } from "./index.ts";

/** Answered where the connection is made. */
const ELSEWHERE = ["connect", "ping", "runtime.shutdown"];

test("every method of the protocol has a handler", () => {
  const missing = Object.keys(SERVER_METHODS).filter((name) => !Object.hasOwn(handlers, name));
  expect(missing.sort()).toEqual(ELSEWHERE);
});
