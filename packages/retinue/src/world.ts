/** Everything the code cannot decide by itself, in one small argument: the time and fresh ids. */
import { randomUUID } from "node:crypto";

export interface World {
  now(): number;
  newId(): string;
}

export const realWorld: World = { now: Date.now, newId: randomUUID };
