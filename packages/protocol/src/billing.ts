/** What a model costs. */
import * as z from "zod";
import { lazy, type Of } from "./schema.ts";

const price = () => z.number().min(0).optional();

/** AI credits for a batch of tokens; a batch has a million tokens unless it says otherwise. */
export const TokenPrices = lazy(() =>
  z.object({
    inputPrice: price(),
    outputPrice: price(),
    /** Older name of `cacheReadPrice`. */
    cachePrice: price(),
    cacheReadPrice: price(),
    cacheWritePrice: price(),
    batchSize: z.number().positive().optional(),
  }),
);
export type TokenPrices = Of<typeof TokenPrices>;

/** What a model costs: by tokens where they have prices, else by request. */
export const Billing = lazy(() => z.object({ multiplier: price(), tokenPrices: TokenPrices().optional() }));
export type Billing = Of<typeof Billing>;
