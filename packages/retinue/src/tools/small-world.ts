/** A temp folder, real shells and a call context for the tests of tools. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createShells } from "./shell/shells.ts";
import { SessionDatabase } from "./sql/session-database.ts";
import { type CallContext, CallRefused, type CallServices, type Outcome, type Tool } from "./tool.ts";

export interface SmallWorld {
  folder: string;
  context: CallContext;
  announced: { type: string; data: object }[];
  partials: string[];
  /** What rules say of paths and of what a call comes upon; a test may change them. */
  rules: { unreadable: string[]; judge: CallContext["rules"]["judge"] };
  abort(): void;
  file(name: string, content: string | Uint8Array): string;
  /** Both steps of a call, as if every permission were given. */
  call(tool: Tool, args: unknown): Promise<Outcome>;
  permission(tool: Tool, args: unknown): Promise<unknown>;
  close(): Promise<void>;
}

export function smallWorld(services: Partial<CallServices> = {}): SmallWorld {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "tools-")));
  const folder = path.join(root, "work");
  const sessionFolder = path.join(root, "session");
  for (const each of [folder, sessionFolder]) mkdirSync(each);
  const abort = new AbortController();
  const announced: SmallWorld["announced"] = [];
  const partials: string[] = [];
  const rules: SmallWorld["rules"] = { unreadable: [], judge: () => "allow" };
  const shells = createShells({ sessionId: "s1", logFolder: path.join(root, "temp"), graceMs: 300 });
  const database = new SessionDatabase();
  const context: CallContext = {
    sessionId: "s1",
    callId: "call_1",
    workingDirectory: folder,
    sessionFolder,
    tempFolder: path.join(root, "temp"),
    signal: abort.signal,
    mode: "interactive",
    partialOutput: (output) => partials.push(output),
    announce: (type, data) => announced.push({ type, data }),
    services: { shells, database, ...services },
    rules: { unreadable: () => rules.unreadable, judge: (request) => rules.judge(request) },
  };
  return {
    folder,
    context,
    announced,
    partials,
    rules,
    abort: () => abort.abort(),
    file(name, content) {
      const file = path.join(folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    async call(tool, args) {
      try {
        const { run } = await tool.prepare(args, context);
        return await run();
      } catch (error) {
        if (error instanceof CallRefused) return error.outcome;
        throw error;
      }
    },
    permission: async (tool, args) => (await tool.prepare(args, context)).permission,
    async close() {
      await Promise.all([shells.closeAll(), database.close()]);
      await Promise.all(shells.list().map((shell) => shell.kill()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}
