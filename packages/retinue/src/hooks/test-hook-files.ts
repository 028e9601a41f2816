/** For tests: files with hooks in a small world, allowed as a person does, and what came of them. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { call, say } from "../models/scripted.ts";
import { FolderTrust } from "../project/trust.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { consentTo, surveyProject } from "../workspace/survey.ts";

export const discovering = { enableConfigDiscovery: true };
export const everything = { permissions: { approveAllToolPermissionRequests: true } };
export const bash = (command: string) => call("bash", { command, description: "d" });

export function put({ folder }: Pick<SmallWorld, "folder">, name: string, content: unknown): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  if (name.endsWith(".sh")) chmodSync(file, 0o755);
}

/** As a person does who has seen what the folder brings. */
export async function allow({ runtime, folder, home }: SmallWorld): Promise<void> {
  const trust = new FolderTrust({ documents: runtime.sessions.store.documents, warn: () => undefined });
  await trust.trust(folder, consentTo(surveyProject({ folder, root: folder }, home)));
}

export const ends = ({ client }: SmallWorld) => client.of("hook.end");
export const results = ({ client }: SmallWorld) => client.of("tool.execution_complete");
export const warnings = ({ client }: SmallWorld) => client.of("session.warning").map(({ message }) => message);
export const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
export const copilot = (hooks: object) => ({ version: 1, hooks });

/** One call of bash, with these files, in a folder that is allowed. */
export async function aCall(
  files: Readonly<Record<string, unknown>>,
  then: (world: SmallWorld) => void | Promise<void>,
  { command = "echo done > ran" } = {},
): Promise<void> {
  await inSmallWorld([[bash(command)], [say("end")]], async (world) => {
    for (const [name, content] of Object.entries(files)) put(world, name, content);
    await allow(world);
    const sessionId = await world.create({ ...discovering, ...everything });
    await world.send(sessionId, "go");
    await then(world);
  });
}
