/** What a host tool answers: a text, or an object that says how it went. */
import * as z from "zod";
import { jsonObject, lazy, type Of, open, strings, text } from "./schema.ts";

export const ResultType = lazy(() => z.enum(["success", "failure", "timeout", "rejected", "denied"]));
export type ResultType = Of<typeof ResultType>;

/** Bytes for the model, such as an image, in base64. */
export const BinaryResult = lazy(() =>
  open({
    type: z.enum(["image", "resource"]),
    data: z.string(),
    mimeType: z.string(),
    description: text(),
  }),
);
export type BinaryResult = Of<typeof BinaryResult>;

export const ToolResultObject = lazy(() =>
  z.object({
    textResultForLlm: z.string(),
    resultType: ResultType().catch("failure").default("success"),
    /** The short reason of a failure. */
    error: text(),
    /** What the log shows instead of the text for the model. */
    sessionLog: text(),
    binaryResultsForLlm: z.array(BinaryResult()).optional(),
    contents: z.array(z.unknown()).optional(),
    toolTelemetry: jsonObject().optional(),
    toolReferences: strings().optional(),
  }),
);
export type ToolResultObject = Of<typeof ToolResultObject>;

export const ToolResult = lazy(() => z.union([z.string(), ToolResultObject()]));
export type ToolResult = Of<typeof ToolResult>;
/** The same as a program writes it: `resultType` may be left out. */
export type ToolResultInput = z.input<ReturnType<typeof ToolResult>>;
