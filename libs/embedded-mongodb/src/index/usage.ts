import type { Index } from './index.js';

/** How often an index was used since the server knows it. */
export interface Usage {
  operations: number;
  since: Date;
}

const started = new Date();
const usages = new WeakMap<Index, Usage>();

/** Counts an operation that goes by an index. */
export function countUse(index: Index): void {
  usageOf(index).operations++;
}

export function usageOf(index: Index): Usage {
  const known = usages.get(index) ?? { operations: 0, since: started };
  usages.set(index, known);
  return known;
}
