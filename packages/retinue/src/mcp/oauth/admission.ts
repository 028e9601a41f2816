/** Work that a server may refuse, and a second time when somebody has signed in because of the first. Never a third time. */
import type { ServerSignIn } from "./server-sign-in.ts";

interface Admission {
  isNeeded(error: unknown): boolean;
  signal: AbortSignal;
  /** Somebody is asked now. */
  onAsk?(): void;
}

export async function withSignIn<T>(
  signIn: Pick<ServerSignIn, "recover"> | undefined,
  work: () => Promise<T>,
  { isNeeded, signal, onAsk }: Admission,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!signIn || !isNeeded(error) || !(await signIn.recover(error, { signal, onAsk }))) throw error;
    return await work();
  }
}
