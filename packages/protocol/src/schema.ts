/**
 * What every message is described with: schemas that are built on first use and accept unknown fields where the wire does.
 *
 * Importing a description builds nothing; a program that uses ten methods pays for ten. What the messages are is in methods/,
 * events/ and the files beside this one.
 */
import * as z from "zod";

/** A schema that is built when it is first needed. */
export type Lazy<Schema extends z.ZodType> = () => Schema;

/** The value that a lazy schema describes. */
export type Of<Schema extends Lazy<z.ZodType>> = z.output<ReturnType<Schema>>;

export function lazy<Schema extends z.ZodType>(make: () => Schema): Lazy<Schema> {
  let built: Schema | undefined;
  return () => {
    built ??= make();
    return built;
  };
}

/**
 * An optional field whose schema is built when a message has the field: a session has some sixty, and most clients use ten.
 *
 * An object asks its fields whether they have a default when they are absent, and a lazy schema would be built to answer that. None of ours
 * has one, so the answer is given here.
 */
export function later<Schema extends z.ZodType>(make: () => Schema): z.ZodOptional<z.ZodLazy<Schema>> {
  const field = z.lazy(make);
  Object.defineProperty(field._zod, "optin", { value: undefined });
  return field.optional();
}

/** Fields that we do not know stay in the value, but not in its type: newer runtimes add fields, and we must pass them on. */
export function open<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodObject<Shape, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape, z.core.$strip>;
}

/** Optional fields of the plain types. One schema serves all fields: building a schema costs more than using it. */
export const text = lazy(() => z.string().optional());
export const count = lazy(() => z.number().optional());
export const flag = lazy(() => z.boolean().optional());

/** Any JSON value. */
export const json = z.unknown;

/** A JSON object whose keys are free. */
export const jsonObject = lazy(() => z.record(z.string(), z.unknown()));

export const strings = lazy(() => z.array(z.string()));
export const stringRecord = lazy(() => z.record(z.string(), z.string()));

/** How the main agent works. */
export const Mode = lazy(() => z.enum(["interactive", "plan", "autopilot"]));
export type Mode = Of<typeof Mode>;

/** The mode of one prompt; `shell` runs the prompt as a command. */
export const PromptMode = lazy(() => z.enum(["interactive", "plan", "autopilot", "shell"]));
export type PromptMode = Of<typeof PromptMode>;

export const ContextTier = lazy(() => z.enum(["default", "long_context"]));
export const ReasoningSummary = lazy(() => z.enum(["none", "concise", "detailed"]));
export const Verbosity = lazy(() => z.enum(["low", "medium", "high"]));

/** The agents from the main agent's child down to the one that is meant, by id. */
export const AgentPath = strings;
/** The same agents by name: for people, not unique. */
export const AgentPathNames = strings;

/** What an ask does while no attached client can answer it: `wait`, `wait:<seconds>`, `deny` or `rules`. Ours. */
export const UnattendedPolicy = lazy(() => z.string().regex(/^(wait(:[1-9]\d{0,6})?|deny|rules)$/));

/** The sub-agent that asks, in every event and request of an ask; absent for the main agent. Ours. */
export const asker = () => ({
  /** Its child session. */
  agentId: text(),
  /** The name of its definition. */
  agentName: text(),
  agentPath: AgentPath().optional(),
  agentPathNames: AgentPathNames().optional(),
  /** The ask was offered before, under the same id: to another client, or by a process that has ended since. */
  isRepeat: flag(),
});
