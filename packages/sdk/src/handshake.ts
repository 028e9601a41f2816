/**
 * The handshake with a runtime: `connect`, or `ping` where that is unknown, and which protocol version both speak.
 */
import { AppError } from "@retinue/protocol";
import { isRecord } from "./questions.ts";

export type ProtocolVersion = 2 | 3;

export interface ClientInfo {
  applicationName?: string;
  applicationVersion?: string;
  integrationName?: string;
  integrationVersion?: string;
}

type Call = (method: string, params: object) => Promise<unknown>;

export async function shakeHands(
  call: Call,
  { token, clientInfo }: { token?: string | undefined; clientInfo?: ClientInfo | undefined },
): Promise<ProtocolVersion> {
  const hello = await greet(call, {
    supportedTaskKinds: ["agent", "client", "shell"],
    token,
    clientInfo,
  });
  const version = isRecord(hello) ? hello.protocolVersion : undefined;
  if (version === 2 || version === 3) return version;
  const theirs = version === undefined ? "no version" : `version ${String(version)}`;
  throw new AppError("version_mismatch", `this client speaks protocol versions 2 and 3, the runtime reports ${theirs}`);
}

async function greet(call: Call, params: object): Promise<unknown> {
  try {
    return await call("connect", params);
  } catch (error) {
    if (!isUnknownMethod(error)) throw error;
    return call("ping", {});
  }
}

/** Old servers answer with a text, and with any error number. */
export function isUnknownMethod(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return error.code === "method_not_found" || error.message.includes("Unhandled method");
}
