/**
 * A conversation in its wire form, as bytes that only grow: a turn costs what is new, not what the history holds.
 *
 * The bytes belong to the message array. They are written again when the array no longer begins with what was serialised before.
 */
import type { Message } from "../provider.ts";

/** Enough for a prompt and a short answer; what is longer doubles it. A host may have hundreds of sessions open that said little. */
const SMALL = 2 * 1024;

interface Serialised {
  bytes: Buffer;
  length: number;
  count: number;
  last: Message | undefined;
}

/** Gives the messages joined by commas. The view stays valid when more messages come: later ones are written behind it. */
export function conversationBytes(
  serialise: (message: Message) => string,
): (messages: readonly Message[]) => Uint8Array {
  const known = new WeakMap<readonly Message[], Serialised>();
  return (messages) => {
    let kept = known.get(messages);
    if (!kept || kept.count > messages.length || (kept.count > 0 && messages[kept.count - 1] !== kept.last)) {
      kept = { bytes: Buffer.allocUnsafeSlow(SMALL), length: 0, count: 0, last: undefined };
      known.set(messages, kept);
    }
    for (const message of messages.slice(kept.count)) {
      append(kept, kept.count === 0 ? serialise(message) : `,${serialise(message)}`);
      kept.count++;
      kept.last = message;
    }
    return kept.bytes.subarray(0, kept.length);
  };
}

function append(kept: Serialised, text: string): void {
  const needed = kept.length + Buffer.byteLength(text);
  if (needed > kept.bytes.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, kept.bytes.length * 2));
    kept.bytes.copy(larger, 0, 0, kept.length);
    kept.bytes = larger;
  }
  kept.length += kept.bytes.write(text, kept.length, "utf8");
}
