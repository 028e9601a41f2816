/** Fields that endpoints leave out, send as null, or send as something else: whatever is not what we can use counts as absent. */
import * as z from "zod";

export const text = z.string().nullish().catch(undefined);
export const count = z.number().nullish().catch(undefined);
