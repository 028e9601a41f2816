/** Measures how long work takes. */

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The median time of one run in milliseconds. */
export async function times(count: number, work: () => Promise<unknown>): Promise<number> {
  const samples: number[] = [];
  for (let run = 0; run < count; run++) samples.push(await timed(work));
  return median(samples);
}

export function median(samples: number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
