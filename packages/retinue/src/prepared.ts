/**
 * Values that are the same in every process and slow to make, such as the schemas that models see. The build makes them once; a start reads them.
 *
 * Outside of the bundle there is nothing prepared, and they are made when they are first wanted.
 */
declare global {
  /** Set by bin/load.js before the bundle runs, and read by scripts/compile-ahead.cjs afterwards. */
  var retinuePrepared: Record<string, unknown> | undefined;
}

/** `make` must depend on nothing but the code: its value must be JSON. */
export function prepared<T>(key: string, make: () => T): T {
  globalThis.retinuePrepared ??= {};
  const values = globalThis.retinuePrepared;
  if (!(key in values)) values[key] = make();
  return values[key] as T;
}
