/** A warning about a Node that gets no more fixes, for people who watch a run. */
import type { Terminal } from "./terminal.ts";

export function noteOldNode(terminal: Terminal): void {
  if (!terminal.isScreen || !process.version.startsWith("v20.")) return;
  terminal.note(`Node 20 is past its end of life: it gets no more security fixes. Node 22 or newer is better.`);
}
