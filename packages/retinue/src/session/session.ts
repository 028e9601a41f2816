/**
 * One session: a root session or the child session of a sub-agent. Its log, its state, its inbox.
 *
 * Owns the rules that an event is appended and folded in one step, and that the title of a root session is stored in its row with the
 * event that sets it. What happens in a session is decided in loop/.
 */
import type { EventData, EventType } from "@retinue/protocol";
import type { World } from "../world.ts";
import type { Inbox } from "./inbox.ts";
import type { Log, LoggedEvent } from "./log.ts";
import { SessionState } from "./state.ts";

export interface SessionPlace {
  workingDirectory: string;
  /** The folder of the root session: plan.md, files/, checkpoints/. */
  folder: string;
  /** Absent: the agent may write wherever the rules let it. */
  confinement?: Confinement;
}

/** The one folder in which an agent may write, because it works there in place of somebody else's. */
export interface Confinement {
  root: string;
  /** The folders that this one stands for, the nearest first. What a rule denies of a file there is denied of its counterpart here. */
  mirrors: readonly string[];
  /** Folders that are closed to it even where temporary files may be written. */
  closed: readonly string[];
}

export class Session {
  readonly id: string;
  readonly parent: Session | undefined;
  readonly log: Log;
  readonly inbox: Inbox;
  readonly world: World;
  readonly place: SessionPlace;
  /** The call that started this child session. */
  readonly parentCallId: string | undefined;
  #state: SessionState;

  constructor(options: {
    id: string;
    log: Log;
    inbox: Inbox;
    world: World;
    place: SessionPlace;
    parent?: Session;
    parentCallId?: string;
    state?: SessionState;
  }) {
    this.id = options.id;
    this.parent = options.parent;
    this.parentCallId = options.parentCallId;
    this.log = options.log;
    this.inbox = options.inbox;
    this.world = options.world;
    this.place = options.place;
    this.#state = options.state ?? new SessionState();
  }

  get state(): SessionState {
    return this.#state;
  }

  /** After the log was cut: takes the state from a replay of the rest. */
  set state(state: SessionState) {
    this.#state = state;
  }

  get root(): Session {
    return this.parent?.root ?? this;
  }

  /** Ids from the main agent's child down to this session; empty for the root session. */
  get agentPath(): readonly string[] {
    return this.parent ? [...this.parent.agentPath, this.id] : [];
  }

  /** `untagged` leaves the agent id off the envelope, as clients expect for asks of sub-agents. */
  append<T extends EventType>(
    type: T,
    data: EventData<T>,
    options: { untagged?: boolean; ephemeral?: boolean } = {},
  ): LoggedEvent {
    const event = this.log.append(type, data, { sessionId: this.id, ...options });
    const { title: before } = this.state;
    this.state.apply(event);
    const { title } = this.state;
    if (title !== undefined && title !== before && !this.parent) this.log.describe({ name: title, summary: title });
    return event;
  }

  /** Sends an event without storing it, whatever its type. */
  announce<T extends EventType>(type: T, data: EventData<T>): void {
    this.append(type, data, { ephemeral: true });
  }
}
