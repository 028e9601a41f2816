/** Values with rules, and the messages for what breaks them. A schema is built when its value is given. */
import * as z from "zod";
import { type Reader, WrongValue } from "./values.ts";

function checked<Value>(schema: () => z.ZodType<Value>): Reader<Value> {
  return {
    read(typed) {
      const result = schema().safeParse(typed);
      if (!result.success) throw new WrongValue(result.error.issues[0]?.message);
      return result.data;
    },
  };
}

export function choice<const Words extends readonly string[]>(...all: Words) {
  return { ...checked(() => z.enum(all, { error: `must be one of ${all.join(", ")}` })), choices: all };
}

export function wholeNumber({ from, to = Number.MAX_SAFE_INTEGER }: { from: number; to?: number }) {
  const range = to === Number.MAX_SAFE_INTEGER ? `, ${from} or more` : ` from ${from} to ${to}`;
  const isRight = (typed: string) => /^\d+$/.test(typed) && Number(typed) >= from && Number(typed) <= to;
  return checked(() => z.string().refine(isRight, `must be a whole number${range}`).transform(Number));
}

/** 0: any free one. */
export const port = wholeNumber({ from: 0, to: 65_535 });

export const seconds = checked(() =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, "must be a number of seconds")
    .transform(Number),
);

export const time = checked(() =>
  z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: "must be a day such as 2026-11-01 or a time such as 2026-11-01T09:30:00Z",
  }),
);

/** The fields of something, as JSON. */
export const jsonObject = checked(() =>
  z.string().transform((typed, { addIssue }): Readonly<Record<string, unknown>> => {
    try {
      return z.record(z.string(), z.unknown()).parse(JSON.parse(typed));
    } catch {
      addIssue({ code: "custom", message: "must be a JSON object" });
      return z.NEVER;
    }
  }),
);
