/** Colours of what the command line draws itself. The text is visible already. */

const CODES = { dim: 2, good: 32, bad: 31, careful: 33, moving: 36 } as const;
export type Tone = keyof typeof CODES;

export function paint(text: string, tone: Tone | undefined, isOn: boolean): string {
  return isOn && tone !== undefined && text !== "" ? `\u001b[${CODES[tone]}m${text}\u001b[0m` : text;
}
