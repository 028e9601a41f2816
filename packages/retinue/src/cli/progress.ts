/**
 * What a run shows of its work on standard error: what became of each call, the change of a file that nobody was asked about, and
 * what sub-agents do. On a screen, lines at the bottom show what goes on now: calls with their output, the tree of agents, and how long the
 * model has been silent. Where there is no screen, each thing is a line when it is over.
 */
import { type AgentTree, emptyTree, foldTree, mainNode, renderTree, type SessionEvent, walk } from "@retinue/sdk";
import { type CallOutcome, CallOutcomes, type OpenCall } from "./call-outcomes.ts";
import { diffLines } from "./diff-lines.ts";
import { lastLines } from "./last-lines.ts";
import { fitted, widthOf } from "./line-width.ts";
import { paint, type Tone } from "./paint.ts";
import { ProgressWords } from "./progress-words.ts";
import { seconds, wholeSeconds } from "./seconds.ts";
import { Silence } from "./silence.ts";
import type { Terminal } from "./terminal.ts";
import { totalsWords } from "./totals-words.ts";

const REDRAW_MS = 100;
const INDENT = "    ";
/** Lines of foreign text where there is no screen that gives them a width. */
const MAX_COLUMNS = 200;
const MAX_CALLS_SHOWN = 4;
/** A call is not cut to less. */
const MIN_WORDS = 12;

const TONES: Record<CallOutcome["sign"], Tone> = { "✓": "good", "✗": "bad", "⊘": "careful" };

export interface ProgressOptions {
  /** Prints nothing and only keeps the tree. */
  isQuiet: boolean;
  now?: () => number;
}

export class Progress implements Disposable {
  readonly #terminal: Terminal;
  readonly #words = new ProgressWords((id) => this.agentPath(id));
  readonly #calls: CallOutcomes;
  readonly #silence = new Silence();
  readonly #isQuiet: boolean;
  readonly #now: () => number;
  readonly #startedAt: number;
  #tree: AgentTree = emptyTree();
  #isSpeaking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal, { isQuiet, now = Date.now }: ProgressOptions) {
    this.#terminal = terminal;
    this.#calls = new CallOutcomes({ agentPath: (id) => this.agentPath(id), canAsk: terminal.canAsk });
    this.#isQuiet = isQuiet;
    this.#now = now;
    this.#startedAt = now();
  }

  /** The names from the main agent down to the one in a child session. */
  agentPath(id: string): string | undefined {
    const node = walk(this.#tree).find((each) => each.id === id || each.childSessionId === id);
    return node && (node.path.join(" › ") || node.displayName);
  }

  receive(event: SessionEvent): void {
    this.#tree = foldTree(this.#tree, event);
    if (this.#isQuiet) return;
    const outcome = this.#calls.receive(event);
    this.#silence.receive(event);
    if (event.agentId === undefined) this.#followSpeech(event);
    if (outcome && (outcome.isImportant || !this.#isShownByTree(outcome))) this.#noteOutcome(outcome);
    const words = this.#words.of(event);
    if (words !== undefined && !this.#isShownByTree(event)) this.#terminal.note(words, toneOf(words));
    if (!this.#terminal.isScreen) return;
    if (isAsk(event)) this.draw(); // It stands still from now on, and somebody reads it.
    this.#timer ??= setInterval(() => this.draw(), REDRAW_MS);
  }

  /** Shows what goes on at this moment. */
  draw(): void {
    this.#terminal.status(this.#isSpeaking ? [] : this.#moving());
  }

  /** Leaves the last state of the tree on the screen, and a line with totals. */
  end(sessionId: string | undefined, { showsTree = this.#terminal.isScreen }: { showsTree?: boolean } = {}): void {
    this[Symbol.dispose]();
    if (this.#isQuiet) return;
    for (const cut of this.#calls.cut(this.#now())) if (!this.#isShownByTree(cut)) this.#noteOutcome(cut);
    if (this.#hasAgents && showsTree) this.#terminal.note(`\n${this.#render()}\n`, { isDrawn: true });
    const session = sessionId === undefined ? "" : ` · session ${sessionId.slice(0, 8)}`;
    const totals = `· ${seconds(this.#now() - this.#startedAt)} · ${totalsWords(this.#tree)}${session}`;
    this.#terminal.note(totals, toneOf(totals));
  }

  /** Nothing moves any more. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal.status([]);
  }

  get #hasAgents(): boolean {
    return mainNode(this.#tree).children.length > 0;
  }

  /** On a screen the tree shows what sub-agents do. */
  #isShownByTree({ agentId, type }: { agentId?: string | undefined; type?: string }): boolean {
    return agentId !== undefined && this.#terminal.isScreen && type !== "session.info";
  }

  /** Hides the tree while the main agent's answer is printed on the same screen. */
  #followSpeech({ type }: SessionEvent): void {
    if (type !== "assistant.message_start" && type !== "assistant.message") return;
    this.#isSpeaking = type === "assistant.message_start" && this.#terminal.isOutScreen;
    if (this.#timer) this.draw();
  }

  #noteOutcome({ sign, words, facts, output, diff }: CallOutcome): void {
    const { color } = this.#terminal;
    const under = [
      ...(output === undefined ? [] : lastLines(output, this.#columns)).map((text) => paint(text, "dim", color)),
      ...(diff === undefined ? [] : diffLines(diff, this.#columns)).map(({ text, tone }) => paint(text, tone, color)),
    ];
    if (this.#timer) this.draw(); // So that the call is not shown as working below its end.
    const head = `${paint(sign, TONES[sign], color)} ${this.#beside(words, facts)}`;
    this.#terminal.note([head, ...under.map((text) => `${INDENT}${text}`)].join("\n"), { isDrawn: true });
  }

  #moving(): string[] {
    const { color } = this.#terminal;
    const calls = this.#calls.working.filter(({ agentId, name }) => agentId === undefined && name !== "task");
    const silence = this.#silence.line(this.#now());
    return [
      ...calls.slice(0, MAX_CALLS_SHOWN).flatMap((call) => this.#working(call)),
      ...(calls.length > MAX_CALLS_SHOWN ? [`  … ${calls.length - MAX_CALLS_SHOWN} more calls`] : []),
      ...(this.#hasAgents ? this.#render().split("\n") : []),
      ...(silence === undefined ? [] : [paint(silence, "dim", color)]),
    ];
  }

  #working({ words, startedAt, live }: OpenCall): string[] {
    const { color } = this.#terminal;
    const output = lastLines(live, this.#columns).map((text) => `${INDENT}${paint(text, "dim", color)}`);
    const time = wholeSeconds(this.#now() - startedAt);
    return [`${paint("●", "moving", color)} ${this.#beside(words, time)}`, ...output];
  }

  /** On a screen a long command is cut, so that what became of it stays in the line. */
  #beside(words: string, facts: string): string {
    if (facts === "") return words;
    const { isScreen, columns } = this.#terminal;
    const room = Math.max(MIN_WORDS, columns - 1 - widthOf(`✓  · ${facts}`));
    return `${isScreen ? fitted(words, room) : words} · ${facts}`;
  }

  /** For lines that are indented. */
  get #columns(): number {
    const { isScreen, columns } = this.#terminal;
    return isScreen ? Math.max(10, columns - 1 - INDENT.length) : MAX_COLUMNS;
  }

  #render(): string {
    const { color, columns } = this.#terminal;
    return renderTree(this.#tree, { color, width: columns - 1, now: this.#now() });
  }
}

/** Lines that matter less are dimmed. */
const toneOf = (line: string) => ({ isDim: line.startsWith("· ") });

const isAsk = ({ type }: SessionEvent): boolean => type.endsWith(".requested");
