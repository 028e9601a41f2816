/** A catalog with one provider that serves every model: for programs that embed the runtime, and for tests. */
import type { Catalog, ModelChoice } from "./catalog.ts";
import { knownToSession, NOTHING_KNOWN } from "./known-models.ts";
import { modelInfo } from "./model-info.ts";
import type { Provider } from "./provider.ts";

/** `model` is the name that sessions see when they name none. */
export function oneProvider(provider: Provider, { model = provider.id }: { model?: string } = {}): Catalog {
  const info = modelInfo();
  const choices = new Map<string, ModelChoice>();
  const choose = (id = model): ModelChoice => {
    const choice = choices.get(id) ?? { id, wireModel: id, provider, info };
    choices.set(id, choice);
    return choice;
  };
  return {
    forSession: (session) => ({ choose, known: () => knownToSession(session) ?? NOTHING_KNOWN }),
    list: async () => [],
  };
}
