/** The tools of a request as JSON text: made once for each tool and each list, and shared by all lists that hold the same tools. */
import { remembered } from "../../remembered.ts";
import type { ToolSpec } from "../provider.ts";

/** Sessions of one program mostly have one list or a few; the rest of the texts live as long as their lists. */
const SHARED_TEXTS = 32;

/** Twenty built-in tools are some 30 KB of text. A hundred sessions that offer the same ones keep it once. */
export function toolTexts(wireForm: (tool: ToolSpec) => unknown): (tools: readonly ToolSpec[]) => string {
  const shared = new Map<string, string>();
  const textOf = remembered((tool: ToolSpec) => JSON.stringify(wireForm(tool)));
  return remembered((tools: readonly ToolSpec[]) => {
    const text = `[${tools.map(textOf).join(",")}]`;
    const known = shared.get(text) ?? text;
    shared.delete(known);
    shared.set(known, known);
    for (const oldest of shared.keys()) {
      if (shared.size <= SHARED_TEXTS) break;
      shared.delete(oldest);
    }
    return known;
  });
}
