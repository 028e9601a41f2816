/** Models slowed down so that somebody can watch: what the offline model answers in a millisecond is spread out. */
import { setTimeout as delay } from "node:timers/promises";
import { type Catalog, type CatalogOptions, openCatalog } from "../models/catalog.ts";
import type { Part, Provider } from "../models/provider.ts";

export interface Pace {
  beforeAnswerMs: number;
  betweenPartsMs: number;
}

export function pacedCatalog(options: CatalogOptions, pace: Pace): Catalog {
  const catalog = openCatalog(options);
  const known = new Map<Provider, Provider>();
  return {
    list: (given) => catalog.list(given),
    subagents: () => catalog.subagents?.() ?? {},
    forSession(config, given) {
      const models = catalog.forSession(config, given);
      return {
        known: () => models.known(),
        choose(model) {
          const choice = models.choose(model);
          const provider = known.get(choice.provider) ?? paced(choice.provider, pace);
          known.set(choice.provider, provider);
          return { ...choice, provider };
        },
      };
    },
  };
}

function paced(provider: Provider, { beforeAnswerMs, betweenPartsMs }: Pace): Provider {
  return {
    ...provider,
    async *stream(request, options): AsyncGenerator<Part> {
      const { signal } = options;
      await delay(beforeAnswerMs * (0.5 + Math.random()), undefined, { signal });
      for await (const part of provider.stream(request, options)) {
        await delay(betweenPartsMs, undefined, { signal });
        yield part;
      }
    },
  };
}
