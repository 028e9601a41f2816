/**
 * A small web chat: `npm run web-chat`, then open the address that it prints. The runtime is in this process; each page that is open is a
 * client of it.
 */
import { Runtime, runtimeConfig } from "retinue";
import { bundlePage } from "./bundle.ts";
import { startWebChat } from "./server.ts";

const runtime = new Runtime({ config: runtimeConfig(process.env) });
const chat = await startWebChat({ runtime, files: await bundlePage(), port: Number(process.env.PORT ?? 0) });
// The part behind # stays in the browser.
console.log(`Open ${chat.base}/#${chat.token}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await chat[Symbol.asyncDispose]();
    await runtime.close();
  });
}
