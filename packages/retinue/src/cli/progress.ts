/**
 * What a run shows of its work on standard error: calls as lines, and sub-agents as a live tree on a screen, or as lines
 * where there is no screen.
 */
import {
  type AgentTree,
  emptyTree,
  foldTree,
  mainNode,
  renderTree,
  type SessionEvent,
  totalUsage,
  walk,
} from "@retinue/sdk";
import { ProgressWords } from "./progress-words.ts";
import type { Terminal } from "./terminal.ts";

const REDRAW_MS = 100;

export class Progress {
  readonly #terminal: Terminal;
  readonly #words = new ProgressWords((id) => this.agentPath(id));
  readonly #isQuiet: boolean;
  readonly #startedAt = Date.now();
  #tree: AgentTree = emptyTree();
  #isSpeaking = false;
  #timer: NodeJS.Timeout | undefined;

  /** A quiet one prints nothing and only keeps the tree. */
  constructor(terminal: Terminal, { isQuiet }: { isQuiet: boolean }) {
    this.#terminal = terminal;
    this.#isQuiet = isQuiet;
  }

  /** The names from the main agent down to the one in a child session. */
  agentPath(id: string): string | undefined {
    const node = walk(this.#tree).find((each) => each.id === id || each.childSessionId === id);
    return node && (node.path.join(" › ") || node.displayName);
  }

  receive(event: SessionEvent): void {
    this.#tree = foldTree(this.#tree, event);
    if (this.#isQuiet) return;
    const words = this.#words.of(event);
    if (words !== undefined && !this.#isShownByTree(event)) this.#terminal.note(words, toneOf(words));
    if (event.agentId === undefined) this.#followSpeech(event);
    if (this.#hasAgents && this.#terminal.isScreen) this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
  }

  /** Leaves the last state of the tree on the screen, and a line with totals. */
  end(sessionId: string | undefined, { showsTree = this.#terminal.isScreen }: { showsTree?: boolean } = {}): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal.status([]);
    if (this.#isQuiet) return;
    if (this.#hasAgents && showsTree) this.#terminal.note(`\n${this.#render()}\n`, { isDrawn: true });
    const session = sessionId === undefined ? "" : ` · session ${sessionId.slice(0, 8)}`;
    const totals = `· ${this.#summary()}${session}`;
    this.#terminal.note(totals, toneOf(totals));
  }

  get #hasAgents(): boolean {
    return mainNode(this.#tree).children.length > 0;
  }

  /** On a screen the tree shows what sub-agents do. */
  #isShownByTree({ agentId, type }: SessionEvent): boolean {
    return agentId !== undefined && this.#terminal.isScreen && type !== "session.info";
  }

  /** Hides the tree while the main agent's answer is printed on the same screen. */
  #followSpeech({ type }: SessionEvent): void {
    if (type !== "assistant.message_start" && type !== "assistant.message") return;
    this.#isSpeaking = type === "assistant.message_start" && this.#terminal.isOutScreen;
    if (this.#timer) this.#draw();
  }

  #draw(): void {
    this.#terminal.status(this.#isSpeaking ? [] : this.#render().split("\n"));
  }

  #render(): string {
    const { color, columns } = this.#terminal;
    return renderTree(this.#tree, { color, width: columns - 1 });
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
}

/** Lines that matter less are dimmed. */
const toneOf = (line: string) => ({ isDim: line.startsWith("· ") });
