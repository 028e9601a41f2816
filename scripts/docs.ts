/** `npm run docs`: writes the generated pages and parts of pages. */
import { readFileSync, writeFileSync } from "node:fs";
import { protocolPage } from "../packages/protocol/src/page.ts";
import { withCommands } from "../packages/retinue/src/cli/commands/page.ts";
import { withRoutes } from "../packages/retinue/src/continuity/serve/operations.ts";

const page = (name: string) => new URL(`../docs/${name}`, import.meta.url);

writeFileSync(page("protocol.md"), protocolPage());
writeFileSync(page("continuity.md"), withRoutes(readFileSync(page("continuity.md"), "utf8")));
writeFileSync(page("cli.md"), withCommands(readFileSync(page("cli.md"), "utf8")));
