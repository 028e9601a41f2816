/**
 * The model of the benchmark, in a process of its own so that its work does not count as the client's.
 *
 * Each workload has its own endpoint. The answer is chosen from the last message alone, found from the end of the
 * body: reading hundreds of kilobytes of JSON per request would be measured too.
 */
import { type Answer, call, calls, chunks, say } from "../test/support/model-answers.ts";
import { type ModelRequest, startModelServer } from "../test/support/model-server.ts";

const WINDOW_BYTES = 2_000;
const CHARACTERS_500 = "lorem ipsum dolor sit amet ".repeat(19).slice(0, 500);

interface Last {
  role: "user" | "tool";
  text: string;
}

function lastOf({ bytes }: ModelRequest): Last {
  const user = bytes.lastIndexOf('"role":"user"');
  const tool = bytes.lastIndexOf('"role":"tool"');
  const at = Math.max(user, tool);
  return { role: tool > user ? "tool" : "user", text: bytes.toString("utf8", at, at + WINDOW_BYTES) };
}

const child = (mode: "sync" | "background", prompt: string) => ({
  name: "task",
  args: { name: "worker", agent_type: "general-purpose", description: "bench work", prompt, mode },
});

/** A main agent that delegates when told to, and children that do what their prompt says. */
function delegate(request: ModelRequest): Answer {
  const last = lastOf(request);
  if (last.role === "tool") return say("done");
  const storm = /@storm-(\d+)/.exec(last.text)?.[1];
  if (last.text.includes("@child-tool")) return call("bench_tool", { n: 1 });
  if (last.text.includes("@child-say")) return say("child result");
  if (last.text.includes("@one")) return calls([child("sync", "@child-say")]);
  if (last.text.includes("@sixteen")) return calls(Array.from({ length: 16 }, () => child("sync", "@child-tool")));
  if (storm) return calls(Array.from({ length: Number(storm) }, () => child("background", "@child-say")));
  return say("noted");
}

const model = await startModelServer({ record: false });
model.endpoint("plain").reply(() => say("The answer is 42."));
model.endpoint("long").reply(() => say(CHARACTERS_500));
model.endpoint("chunks").reply(() => chunks(5_000));
model
  .endpoint("tool")
  .reply((request) => (lastOf(request).role === "tool" ? say("done") : call("bench_tool", { n: 1 })));
model.endpoint("delegate").reply(delegate);
process.on("disconnect", () => process.exit(0));
process.send?.({ port: model.port });
