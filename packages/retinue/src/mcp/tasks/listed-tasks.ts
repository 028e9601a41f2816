/** The tasks that a server of revision 2025-11-25 still has, for a person who looks at it. */
import type { Client } from "@modelcontextprotocol/client";
import { messageOf } from "@retinue/protocol";
import * as z from "zod";
import { lookOf, Task2025 } from "./revision-2025.ts";
import { ASK_LIMIT_MS, type TaskLook } from "./server-task.ts";

export interface ListedTasks {
  tasks: TaskLook[];
  /** Why there may be more. */
  problem?: string;
}

const MAX_TASKS = 200;
const MAX_PAGES = 64;

const Lists = z.looseObject({ tasks: z.looseObject({ list: z.looseObject({}) }) });
const Page = z.looseObject({ tasks: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Never throws: a server that cannot list its tasks has tools all the same. Undefined when it does not say that it lists them. */
export async function listedTasks(client: Client): Promise<ListedTasks | undefined> {
  if (!Lists.safeParse(client.getServerCapabilities()).success) return undefined;
  const tasks: TaskLook[] = [];
  const seen = new Set<string | undefined>();
  let cursor: string | undefined;
  try {
    do {
      if (seen.has(cursor) || seen.size >= MAX_PAGES) return { tasks, problem: "its list has no end" };
      seen.add(cursor);
      const page = await client.request({ method: "tasks/list", params: { cursor } }, Page, { timeout: ASK_LIMIT_MS });
      const read = page.tasks.flatMap((each) => Task2025.safeParse(each).data ?? []);
      tasks.push(...read.map(lookOf));
      if (tasks.length > MAX_TASKS)
        return { tasks: tasks.slice(0, MAX_TASKS), problem: `only the first ${MAX_TASKS} are shown` };
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return { tasks };
  } catch (error) {
    return { tasks, problem: messageOf(error) };
  }
}
