/** `npm run docs`: writes the generated pages. */
import { writeFileSync } from "node:fs";
import { protocolPage } from "../packages/protocol/src/page.ts";

writeFileSync(new URL("../docs/protocol.md", import.meta.url), protocolPage());
