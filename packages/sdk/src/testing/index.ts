/** For tests of programs that use the SDK: a fake runtime and a scripted model. */
export {
  type FakeHandler,
  FakeRuntime,
  type FakeRuntimeOptions,
  type FakeSubagent,
  type FakeToolCall,
  type FakeTurn,
  type StartSubagent,
} from "./fake-runtime.ts";
export { type EmitOptions, FakeSession } from "./fake-session.ts";
export {
  call,
  type ModelCall,
  type ModelParts,
  type ModelRequest,
  type ModelScript,
  type ModelTurn,
  type ScriptedModel,
  say,
  startScriptedModel,
} from "./scripted-model.ts";
