/** Opening an address in the person's browser: with the program that BROWSER names, or with what the system has for it. */
import { spawn } from "node:child_process";
import { childEnvironment } from "../secrets/environment.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Resolves with whether a program was started for it. What becomes of that program is not our business. */
export async function openInBrowser(address: string, env: Environment): Promise<boolean> {
  const [program, ...args] = opener(address, env);
  if (program === undefined) return false;
  return await new Promise((resolve) => {
    // Without a shell: the address is somebody else's text.
    const child = spawn(program, args, { detached: true, stdio: "ignore", env: childEnvironment({}, env) });
    child.once("error", () => resolve(false));
    child.once("spawn", () => resolve(true));
    child.unref();
  });
}

function opener(address: string, env: Environment, platform = process.platform): string[] {
  const { BROWSER, DISPLAY, WAYLAND_DISPLAY } = env;
  if (BROWSER !== undefined) return BROWSER === "" || BROWSER === "none" ? [] : [BROWSER, address];
  if (platform === "darwin") return ["open", address];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", address];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open", address] : [];
}
