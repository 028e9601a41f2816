/** Lists the shells of the session. */
import * as z from "zod";
import { describeShells } from "../shell/shell-report.ts";
import { defineTool, success, type Tool } from "../tool.ts";
import description from "./list-bash.md";

export const listBashTool = (): Tool =>
  defineTool({
    name: "list_bash",
    title: "List shells",
    description,
    input: () => z.object({}),
    readOnly: true,
    prepare: (_args, { services }) => ({ run: async () => success(describeShells(services.shells)) }),
  });
