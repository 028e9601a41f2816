/** Stops a shell with all its processes. */
import * as z from "zod";
import { defineTool, success, type Tool } from "../tool.ts";
import description from "./stop-bash.md";

export const stopBashTool = (): Tool =>
  defineTool({
    name: "stop_bash",
    title: "Stop a shell",
    description,
    input: () => z.object({ shellId: z.string().describe("The shell to stop.") }),
    readOnly: false,
    prepare: ({ shellId }, { services }) => ({
      async run() {
        await services.shells.get(shellId)?.kill();
        services.shells.remove(shellId);
        return success(`<command with id: ${shellId} stopped>`);
      },
    }),
  });
