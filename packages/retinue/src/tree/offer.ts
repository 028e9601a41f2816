/**
 * One open ask, offered to the clients that can answer it until it is settled.
 *
 * Owns who has been offered it: each client gets it once, by the event or by a request, when it is asked, when the client joins, or
 * when the client that had it is gone. Owns also what becomes of it while no attached client can answer.
 */
import { type LongTimer, longTimer, type PermissionRequest } from "@retinue/protocol";
import { type Answer, type Ask, type AskKind, KINDS } from "../asks/kinds.ts";
import type { Unattended } from "../asks/unattended.ts";
import type { Client } from "./client.ts";
import { CLIENT_REQUESTS, canAnswer, type Participant, UNANSWERED } from "./client-requests.ts";
import { formInstead } from "./form-instead.ts";

/** Takes an answer; the broker's `answer`. */
export type TakeAnswer = <K extends AskKind>(kind: K, requestId: string, answer: Answer<K>) => void;

/** What an offer needs to know of its session. */
export interface OfferRoom {
  sessionId: string;
  participants(): readonly Participant[];
  answer: TakeAnswer;
  unattended(): Unattended;
  /** Whether the permission rules allow this by now. */
  isAllowed(request: PermissionRequest): boolean;
  /** An event that is sent to one client and not recorded, as text. */
  envelope(type: (typeof KINDS)[AskKind]["requested" | "completed"], data: object): string;
}

export class Offer<K extends AskKind> {
  readonly #ask: Ask<K>;
  readonly #room: OfferRoom;
  /** The clients that were sent a request. */
  readonly #requests = new Map<Client, AbortController>();
  readonly #failed = new Set<Client>();
  /** The clients that could answer when they were offered it. */
  readonly #able = new Set<Client>();
  /** The clients that were shown a form in its place. */
  readonly #forms = new Set<Client>();
  /** Some client was offered it already. */
  #wasOffered = false;
  /** A client that could answer was there at some time, so it may have acted. */
  #wasAttended: boolean;
  #timer: LongTimer | undefined;
  #isRetracted = false;

  constructor(ask: Ask<K>, room: OfferRoom) {
    this.#ask = ask;
    this.#room = room;
    this.#wasAttended = ask.isRepeat === true;
    this.again();
  }

  /** Offers it to those that have not had it, after clients have joined or left. */
  again(): void {
    const present = this.#room.participants();
    for (const [client, request] of this.#requests)
      if (!present.some((each) => each.client === client)) this.#withdrawFrom(client, request);
    for (const client of this.#forms) if (!present.some((each) => each.client === client)) this.#forms.delete(client);
    const isRepeat = this.#ask.isRepeat === true || this.#wasOffered;
    const ready = present.filter(({ client }) => !client.opening.has(this.#room.sessionId));
    for (const participant of ready) {
      this.#request(participant, isRepeat);
      this.#show(participant);
      this.#showForm(participant, isRepeat);
    }
    this.#wasOffered ||= ready.length > 0;
    this.#attend(present);
    this.#settleIfAllFailed();
  }

  retract(): void {
    this.#isRetracted = true;
    this.#timer?.clear();
    for (const request of this.#requests.values()) request.abort();
    const { requestId } = this.#ask;
    for (const { client, seen } of this.#room.participants()) {
      seen.delete(requestId);
      if (this.#forms.has(client)) this.#send(client, "elicitation.completed", { requestId });
    }
  }

  #request(participant: Participant, isRepeat: boolean): void {
    const { client } = participant;
    const { kind, requestId, payload, from } = this.#ask;
    const request = CLIENT_REQUESTS[kind];
    if (!request?.isFor(participant, payload) || this.#requests.has(client)) return;
    const controller = new AbortController();
    this.#requests.set(client, controller);
    const about = { sessionId: this.#room.sessionId, ...from, ...(isRepeat ? { isRepeat, requestId } : {}) };
    request.send(client, payload, { about, signal: controller.signal }).then(
      (answer) => this.#room.answer(kind, requestId, answer),
      () => {
        // A client that is gone has not refused: the ask goes to the others when it has left.
        if (controller.signal.aborted || client.isGone) return;
        this.#failed.add(client);
        this.#settleIfAllFailed();
      },
    );
  }

  /** The event, for a client that was not there when it was sent to all, or could not answer then and can now. */
  #show(participant: Participant): void {
    const { client, seen } = participant;
    const { kind, requestId, payload, shown } = this.#ask;
    const isAble = canAnswer(kind, participant, payload);
    const isNew = isAble && this.#wasOffered && !this.#able.has(client);
    if (isAble) this.#able.add(client);
    const isByRequest = client.style === 2 && CLIENT_REQUESTS[kind]?.isEventToo;
    if (isByRequest || !shown || (seen.has(requestId) && !isNew)) return;
    seen.add(requestId);
    this.#send(client, KINDS[kind].requested, { ...shown(), isRepeat: true });
  }

  #showForm(participant: Participant, isRepeat: boolean): void {
    const { client } = participant;
    const { kind, requestId, callId, payload, from } = this.#ask;
    const form = formInstead(kind, participant, payload);
    if (!form || this.#forms.has(client)) return;
    this.#forms.add(client);
    const repeated = isRepeat ? { isRepeat } : {};
    this.#send(client, "elicitation.requested", { requestId, ...form, toolCallId: callId, ...from, ...repeated });
  }

  #send(client: Client, type: Parameters<OfferRoom["envelope"]>[0], data: object): void {
    client.send(`${eventHead(this.#room.sessionId)}${this.#room.envelope(type, data)}}}`);
  }

  #withdrawFrom(client: Client, request: AbortController): void {
    request.abort();
    this.#requests.delete(client);
    this.#failed.delete(client);
  }

  #settleIfAllFailed(): void {
    const { kind, requestId, payload } = this.#ask;
    const request = CLIENT_REQUESTS[kind];
    if (!request || this.#isRetracted || this.#failed.size === 0 || this.#failed.size < this.#requests.size) return;
    const mayComeByEvent = (each: Participant) => each.client.style === 3 && canAnswer(kind, each, payload);
    if (request.isEventToo && this.#room.participants().some(mayComeByEvent)) return;
    this.#room.answer(kind, requestId, request.ifAllFail);
  }

  #attend(present: readonly Participant[]): void {
    const { kind, payload } = this.#ask;
    const isAttended = present.some((each) => canAnswer(kind, each, payload));
    const policy = this.#room.unattended();
    this.#wasAttended ||= isAttended;
    if (isAttended || policy.type !== "wait" || policy.seconds === undefined) {
      this.#timer?.clear();
      this.#timer = undefined;
    } else this.#timer ??= longTimer(() => this.#giveUp(policy), policy.seconds * 1000);
    if (!isAttended && policy.type !== "wait") queueMicrotask(() => this.#giveUp(policy));
  }

  #giveUp({ type }: Unattended): void {
    if (this.#isRetracted) return;
    const { kind, requestId, payload } = this.#ask;
    const isApproved =
      type === "rules" && "permissionRequest" in payload && this.#room.isAllowed(payload.permissionRequest);
    if (isApproved) this.#room.answer("permission", requestId, { kind: "approve-once" });
    else this.#room.answer(kind, requestId, UNANSWERED[kind]({ wasAttended: this.#wasAttended }));
  }
}

export function eventHead(sessionId: string): string {
  return `{"jsonrpc":"2.0","method":"session.event","params":{"sessionId":${JSON.stringify(sessionId)},"event":`;
}
