/**
 * Documents: JSON in the store with a schema and a version, parsed when it is read.
 *
 * A value that cannot be read is an error that names it; the caller decides whether to go on without it.
 */
import { AppError, type Lazy, lazy, messageOf } from "@retinue/protocol";
import type * as z from "zod";
import type { DocumentChange, Documents, StoredDocument } from "./store.ts";

export interface Codec<T> {
  encode(value: T): { version: number; json: string };
  /** `name` is for the error message. */
  decode(stored: { version: number; json: string }, name: string): T;
}

/** Compiling a parser takes longer than reading what a process reads of one kind. */
const COLD = { jitless: true };

export interface CodecOptions {
  /** Raised with every change that an earlier version could not read. */
  version?: number;
  /** Converts a value of an earlier version to the current one. */
  migrate?: (value: unknown, from: number) => unknown;
}

export function codec<Schema extends z.ZodType>(
  make: () => Schema,
  { version = 1, migrate = (value) => value }: CodecOptions = {},
): Codec<z.output<Schema>> {
  const schema: Lazy<Schema> = lazy(make);
  return {
    encode: (value) => ({ version, json: JSON.stringify(value) }),
    decode(stored, name) {
      if (stored.version > version) throw unreadable(name, `it is from a newer version of Retinue (${stored.version})`);
      const value = attempt(() => JSON.parse(stored.json), name);
      const current = stored.version < version ? attempt(() => migrate(value, stored.version), name) : value;
      const parsed = schema().safeParse(current, COLD);
      if (parsed.success) return parsed.data;
      const [issue] = parsed.error.issues;
      throw unreadable(name, `${issue?.path.join(".") || "value"}: ${issue?.message ?? "not as expected"}`);
    },
  };
}

/** One kind of document: everything that is stored under that name. */
export interface DocumentKind<T> {
  readonly kind: string;
  put(key: string, value: T): DocumentChange;
  remove(key: string): DocumentChange;
  /** Rejects when the document exists and cannot be read. */
  get(documents: Documents, key: string): Promise<T | undefined>;
  /** The readable ones, and why the others cannot be read. */
  list(documents: Documents, keyPrefix: string): Promise<{ found: { key: string; value: T }[]; problems: AppError[] }>;
}

export function document<Schema extends z.ZodType>(
  kind: string,
  make: () => Schema,
  options?: CodecOptions,
): DocumentKind<z.output<Schema>> {
  const { encode, decode } = codec(make, options);
  const read = (stored: StoredDocument) => decode(stored, `${kind} ${stored.key}`);
  return {
    kind,
    put: (key, value) => ({ put: { kind, key, ...encode(value) } }),
    remove: (key) => ({ remove: { kind, key } }),
    async get(documents, key) {
      const stored = await documents.get(kind, key);
      return stored && read(stored);
    },
    async list(documents, keyPrefix) {
      const stored = await documents.list(kind, keyPrefix);
      return readAll(stored, (each) => ({ key: each.key, value: read(each) }));
    },
  };
}

/** Reads those that can be read, and collects why the others cannot. */
export function readAll<Stored, T>(
  stored: readonly Stored[],
  read: (each: Stored) => T,
): { found: T[]; problems: AppError[] } {
  const found: T[] = [];
  const problems: AppError[] = [];
  for (const each of stored) {
    try {
      found.push(read(each));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      problems.push(error);
    }
  }
  return { found, problems };
}

function attempt(work: () => unknown, name: string): unknown {
  try {
    return work();
  } catch (error) {
    throw unreadable(name, messageOf(error));
  }
}

function unreadable(name: string, why: string): AppError {
  return new AppError("store_unavailable", `What is stored as ${name} cannot be read: ${why}`);
}
