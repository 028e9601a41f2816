/**
 * How what was typed becomes a value: text comes as a string, a switch as a boolean, repeated ones as a list, and what was not typed as undefined.
 *
 * These load nothing, because a hook must start fast. Values with rules of their own are in checked-values.ts.
 */
export interface Reader<Value> {
  read(typed: unknown): Value;
  /** All that it takes, when that is a list. */
  readonly choices?: readonly string[];
}

/** Its message follows the name of the option. */
export class WrongValue extends Error {
  override readonly name = "WrongValue";
}

export const text: Reader<string> = {
  read(typed) {
    if (typeof typed !== "string") throw new WrongValue("must be text");
    return typed;
  },
};

export const folder: Reader<string> = {
  read(typed) {
    if (typed === "") throw new WrongValue("must name a folder");
    return text.read(typed);
  },
};

export const words: Reader<string[]> = { read: (typed) => (Array.isArray(typed) ? typed.map(text.read) : []) };

export const flag: Reader<boolean> = { read: (typed) => typed === true };

/** For `--no-…`. */
export const unlessTurnedOff: Reader<boolean> = { read: (typed) => typed !== false };

export function optional<Value>({ read, choices }: Reader<Value>): Reader<Value | undefined> {
  return { choices, read: (typed) => (typed === undefined ? undefined : read(typed)) };
}

export function otherwise<Value>(value: Value, { read, choices }: Reader<Value>): Reader<Value> {
  return { choices, read: (typed) => (typed === undefined ? value : read(typed)) };
}
