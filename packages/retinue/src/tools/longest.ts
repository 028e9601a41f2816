/**
 * How long the arguments of a call may be, where nothing could be done with more, or where reading more would keep the process from other
 * work. A longer one is refused before anything looks at it, in words that say what to do instead.
 */
import { CallRefused, failure } from "./tool.ts";

interface Bound {
  what: string;
  bytes: number;
  instead: string;
}

const LONGEST = {
  // Linux takes 128 KB in one argument of a program.
  command: { what: "command", bytes: 131_000, instead: "Write it into a file and run that file." },
  input: { what: "input", bytes: 131_000, instead: "Write it into a file and let the program read that." },
  path: { what: "path", bytes: 32_768, instead: "No system opens one of more than 4096." },
  pattern: { what: "pattern", bytes: 65_536, instead: "Search for a part of it." },
  url: { what: "address", bytes: 8192, instead: "Servers refuse longer ones." },
  sql: { what: "query", bytes: 262_144, instead: "Run it in several calls." },
} as const satisfies Readonly<Record<string, Bound>>;

export function refuseTooLong(kind: keyof typeof LONGEST, text: string): void {
  const { what, bytes, instead } = LONGEST[kind];
  // A text has at least as many bytes as characters, so most need no counting.
  if (text.length * 3 <= bytes || (text.length <= bytes && Buffer.byteLength(text) <= bytes)) return;
  const problem = `The ${what} is too long: ${text.length} characters, and at most ${bytes} bytes are taken.`;
  throw new CallRefused(failure(`${problem} ${instead}`, { error: problem }));
}
