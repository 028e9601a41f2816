/** How long something took, or takes so far, in words. */

/** With tenths, and in minutes when it is long. */
export function seconds(milliseconds: number): string {
  const whole = Math.max(0, milliseconds) / 1000;
  return whole < 100 ? `${whole.toFixed(1)}s` : minutes(whole);
}

/** For a line that counts. */
export function wholeSeconds(milliseconds: number): string {
  const whole = Math.max(0, Math.floor(milliseconds / 1000));
  return whole < 100 ? `${whole}s` : minutes(whole);
}

const minutes = (whole: number): string =>
  `${Math.floor(whole / 60)}m ${String(Math.floor(whole % 60)).padStart(2, "0")}s`;
