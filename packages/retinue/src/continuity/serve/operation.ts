/** What an operation is: one name, one schema, one implementation. HTTP, MCP and the CLI are loops over the list in operations.ts. */
import { AppError } from "@retinue/protocol";
import * as z from "zod";
import type { Continuity } from "../records/continuity.ts";
import { type Caller, isOwner } from "../records/scope.ts";

export interface Operation {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `{name}` stands for a field of the input. */
  readonly path: string;
  readonly summary: string;
  /** public: without a token. any: with any token, within its scope. owner: not with a scoped token. */
  readonly access: "public" | "any" | "owner";
  readonly input: z.ZodType;
  /** Offered to models, with the fields that they may set. */
  readonly tool?: z.ZodObject;
  /** Parses, checks and runs. A string is text, anything else JSON. */
  call(continuity: Continuity, caller: Caller, input: unknown): Promise<unknown>;
}

interface Definition<Input extends z.ZodType> extends Omit<Operation, "call" | "access"> {
  access?: Operation["access"];
  input: Input;
  run(continuity: Continuity, caller: Caller, input: z.output<Input>): Promise<unknown>;
}

export function operation<Input extends z.ZodType>({ run, access = "any", ...rest }: Definition<Input>): Operation {
  return {
    ...rest,
    access,
    async call(continuity, caller, value) {
      if (access === "owner" && !isOwner(caller))
        throw new AppError("authentication_failed", "A scoped token may not do this");
      const parsed = rest.input.safeParse(value);
      if (!parsed.success) throw new AppError("invalid_params", z.prettifyError(parsed.error));
      return await run(continuity, caller, parsed.data);
    },
  };
}

/** A number or a flag that may come from a query string. */
export const number = () => z.coerce.number().int().min(0);
export const flag = () => z.union([z.boolean(), z.enum(["true", "false"]).transform((word) => word === "true")]);
export const word = () => z.string().min(1).max(1_024);
