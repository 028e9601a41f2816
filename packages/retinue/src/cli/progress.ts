/**
 * What a run shows of its work on standard error: calls as lines, and sub-agents as a tree that moves on a screen and as
 * lines where there is none.
 */
import { type AgentTree, emptyTree, foldTree, mainNode, renderTree, type SessionEvent, totalUsage, walk } from "@retinue/sdk";
import { callWords, oneLine } from "./call-words.ts";
import type { Terminal } from "./terminal.ts";

const REDRAW_MS = 100;

export class Progress {
  readonly #terminal: Terminal;
  readonly #calls = new Map<string, string>();
  readonly #startedAt = Date.now();
  #tree: AgentTree = emptyTree();
  #isSpeaking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get tree(): AgentTree {
    return this.#tree;
  }

  /** The names from the main agent down to the one in a child session. */
  agentPath(id: string): string | undefined {
    const node = walk(this.#tree).find((each) => each.id === id || each.childSessionId === id);
    return node && (node.path.join(" › ") || node.displayName);
  }

  hear(event: SessionEvent): void {
    this.#tree = foldTree(this.#tree, event);
    this.#tell(event);
    if (this.#hasAgents && this.#terminal.isScreen) this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
  }

  /** Leaves the last state of the tree on the screen, and a line about the whole. */
  end(sessionId: string | undefined, { showsTree = this.#terminal.isScreen }: { showsTree?: boolean } = {}): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal.status([]);
    if (this.#hasAgents && showsTree) this.#terminal.note(`\n${this.render()}\n`);
    const session = sessionId === undefined ? "" : ` · session ${sessionId.slice(0, 8)}`;
    this.#terminal.note(this.#dim(`${this.#summary()}${session}`));
  }

  render(): string {
    const { color, columns } = this.#terminal;
    return renderTree(this.#tree, { color, width: columns - 1 });
  }

  get #hasAgents(): boolean {
    return mainNode(this.#tree).children.length > 0;
  }

  #draw(): void {
    const isOver = this.#isSpeaking && this.#terminal.isOutScreen;
    this.#terminal.status(isOver ? [] : this.render().split("\n"));
  }

  #tell(event: SessionEvent): void {
    switch (event.type) {
      case "assistant.message_start":
        if (event.agentId === undefined) this.#speaks(true);
        return;
      case "assistant.message":
        if (event.agentId === undefined) this.#speaks(false);
        return;
      case "tool.execution_start":
        return this.#onCall(event);
      case "tool.execution_complete":
        return this.#onCallEnd(event);
      case "subagent.started":
      case "subagent.completed":
      case "subagent.failed":
        return this.#onAgent(event);
      case "model.call_failure":
        return this.#terminal.note(`! the model call failed: ${oneLine(event.data.errorMessage ?? "no reason given", 300)}`);
      case "session.warning":
        return this.#terminal.note(`! ${event.data.message}`);
      case "session.compaction_start":
        return this.#terminal.note(this.#dim("· the conversation is long: making a summary of it"));
      default:
        return;
    }
  }

  #speaks(isSpeaking: boolean): void {
    this.#isSpeaking = isSpeaking;
    if (this.#timer) this.#draw();
  }

  /** On a screen the tree shows what sub-agents do. */
  #isShownByTree(agentId: string | undefined): boolean {
    return agentId !== undefined && this.#terminal.isScreen;
  }

  #onCall({ agentId, data }: Extract<SessionEvent, { type: "tool.execution_start" }>): void {
    const words = callWords(data.toolName, data.arguments, (id) => this.agentPath(id));
    this.#calls.set(data.toolCallId, words);
    if (this.#isShownByTree(agentId)) return;
    this.#terminal.note(this.#dim(`· ${this.#prefix(agentId)}${words}`));
  }

  #onCallEnd({ agentId, data }: Extract<SessionEvent, { type: "tool.execution_complete" }>): void {
    const words = this.#calls.get(data.toolCallId) ?? "a call";
    this.#calls.delete(data.toolCallId);
    if (data.success || this.#isShownByTree(agentId)) return;
    this.#terminal.note(`✗ ${this.#prefix(agentId)}${words}: ${oneLine(data.error?.message ?? "failed", 300)}`);
  }

  #onAgent(event: Extract<SessionEvent, { type: `subagent.${"started" | "completed" | "failed"}` }>): void {
    if (this.#terminal.isScreen || event.agentId === undefined) return;
    const path = this.agentPath(event.agentId) ?? event.data.agentDisplayName;
    if (event.type === "subagent.started") {
      const how = event.data.executionMode === "background" ? " in the background" : "";
      return this.#terminal.note(`▸ ${path} (${event.data.agentName}) starts${how}`);
    }
    const seconds = ((event.data.durationMs ?? 0) / 1000).toFixed(1);
    if (event.type === "subagent.failed") return this.#terminal.note(`✗ ${path} failed after ${seconds}s: ${event.data.error}`);
    this.#terminal.note(event.data.cancelled ? `⊘ ${path} was cancelled` : `✓ ${path} is done after ${seconds}s`);
  }

  #prefix(agentId: string | undefined): string {
    return agentId === undefined ? "" : `${this.agentPath(agentId) ?? "sub-agent"}: `;
  }

  #summary(): string {
    const { turns, calls, inputTokens, outputTokens } = totalUsage(this.#tree);
    const agents = walk(this.#tree).length - 1;
    const count = (amount: number, word: string) => `${amount} ${word}${amount === 1 ? "" : "s"}`;
    const facts = [
      `${((Date.now() - this.#startedAt) / 1000).toFixed(1)}s`,
      count(turns, "turn"),
      count(calls, "call"),
      ...(agents > 0 ? [count(agents, "sub-agent")] : []),
      ...(inputTokens + outputTokens > 0 ? [`${inputTokens} tokens in, ${outputTokens} out`] : []),
    ];
    return facts.join(" · ");
  }

  #dim(text: string): string {
    return this.#terminal.color ? `\u001b[2m${text}\u001b[0m` : text;
  }
}
