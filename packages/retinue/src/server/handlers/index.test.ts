import { SERVER_METHODS } from "@retinue/protocol";
import { expect, test } from "vitest";
import { handlers } from "./index.ts";

/** Answered by the connection itself. */
const ELSEWHERE = ["connect", "ping", "runtime.shutdown"];

test("every method of the protocol has a handler", () => {
  const missing = Object.keys(SERVER_METHODS).filter((name) => !Object.hasOwn(handlers, name));
  expect(missing.sort()).toEqual(ELSEWHERE);
});
