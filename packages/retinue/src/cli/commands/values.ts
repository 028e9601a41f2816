/** What can be typed as a value, and the words for what cannot: they follow the name of the option. */
import * as z from "zod";

export const text = () => z.string();
export const optionalText = () => z.string().optional();
export const words = () => z.array(z.string()).default([]);
export const flag = () => z.boolean().default(false);
/** For `--no-…`. */
export const unlessTurnedOff = () => z.boolean().default(true);

export const folder = () => z.string().min(1, "must name a folder");

export function choice<const Words extends readonly string[]>(...all: Words) {
  return z.enum(all, { error: `must be one of ${all.join(", ")}` });
}

export function wholeNumber({ from, to = Number.MAX_SAFE_INTEGER }: { from: number; to?: number }) {
  const range = to === Number.MAX_SAFE_INTEGER ? `, ${from} or more` : ` from ${from} to ${to}`;
  return z
    .string()
    .refine((typed) => /^\d+$/.test(typed) && Number(typed) >= from && Number(typed) <= to, {
      error: `must be a whole number${range}`,
    })
    .transform(Number);
}

/** 0: any free one. */
export const port = () => wholeNumber({ from: 0, to: 65_535 });

export const seconds = () =>
  z
    .string()
    .refine((typed) => /^\d+(\.\d+)?$/.test(typed), { error: "must be a number of seconds" })
    .transform(Number);

export const time = () =>
  z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
    error: "must be a day such as 2026-11-01 or a time such as 2026-11-01T09:30:00Z",
  });

/** The fields of something, as JSON. */
export const jsonObject = () =>
  z.string().transform((typed, { addIssue }): Readonly<Record<string, unknown>> => {
    try {
      return z.record(z.string(), z.unknown()).parse(JSON.parse(typed));
    } catch {
      addIssue({ code: "custom", message: "must be a JSON object" });
      return z.NEVER;
    }
  });
