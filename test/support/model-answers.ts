/** The answers of a scripted model; the wire formats are in model-wire.ts. */

export interface ModelCall {
  name: string;
  /** A string is sent as it is, so that a test can send arguments that are not JSON. */
  args?: object | string;
  id?: string;
}

export interface MessageAnswer {
  kind: "message";
  /** The pieces of the text: one chunk each when the request streams. */
  pieces: string[];
  calls: ModelCall[];
  reasoning?: string;
  finish?: string;
  usage?: { prompt: number; completion: number };
  /** Who says that it has answered. */
  model?: string;
  /** What happens after the last chunk of a stream instead of its proper end. */
  end?: "hang" | "drop";
}

export type Answer =
  | MessageAnswer
  | { kind: "status"; status: number; headers: Record<string, string>; body: string }
  | { kind: "raw"; contentType: string; body: string }
  | { kind: "hang" }
  | { kind: "drop" };

type MessageExtras = Partial<Pick<MessageAnswer, "reasoning" | "finish" | "usage" | "model" | "end" | "pieces">>;

export function say(text: string, extras: MessageExtras = {}): MessageAnswer {
  return { kind: "message", pieces: text === "" ? [] : [text], calls: [], ...extras };
}

export function calls(list: ModelCall[], extras: MessageExtras = {}): MessageAnswer {
  return { kind: "message", pieces: [], calls: list, ...extras };
}

export function call(name: string, args: object | string = {}, id?: string): MessageAnswer {
  return calls([{ name, args, ...(id === undefined ? {} : { id }) }]);
}

/** A text in n pieces: `word0 word1 …`. */
export function chunks(count: number, extras: MessageExtras = {}): MessageAnswer {
  return say("", { pieces: Array.from({ length: count }, (_, at) => `word${at} `), ...extras });
}

export function status(
  code: number,
  { message = `scripted ${code}`, headers = {} }: { message?: string; headers?: Record<string, string> } = {},
): Answer {
  return { kind: "status", status: code, headers, body: JSON.stringify({ error: { message, type: "scripted" } }) };
}

/** Bytes as they are, for answers that no well-behaved model would give. */
export function raw(body: string, { contentType = "text/event-stream" }: { contentType?: string } = {}): Answer {
  return { kind: "raw", contentType, body };
}

/** Takes the request and never answers. */
export function hang(): Answer {
  return { kind: "hang" };
}

/** Takes the request and cuts the connection. */
export function drop(): Answer {
  return { kind: "drop" };
}
