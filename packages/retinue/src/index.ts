/**
 * What programs import from `retinue`: the runtime itself, to run it in their own process, and the scripted model, to test
 * their agents as we test ours. A program that only drives a runtime imports `@retinue/sdk`.
 */

export { type RuntimeConfig, runtimeConfig } from "./host/config.ts";
export type { Catalog, ModelChoice } from "./models/catalog.ts";
export { oneProvider } from "./models/one-provider.ts";
export type { ModelRequest, Part, Provider } from "./models/provider.ts";
export {
  call,
  type ScriptedProvider,
  type Step,
  say,
  scripted,
  type Turn,
  think,
  when,
} from "./models/scripted.ts";
export { type ConnectionOptions, serveConnection } from "./server/connection.ts";
export { Runtime, type RuntimeOptions } from "./server/runtime.ts";
