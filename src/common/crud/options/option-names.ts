import type { CrudAction, CrudBatchHandler, CrudHandler } from './crud-options.js';

/** The actions, in the order of the documentation. */
export const ACTIONS = ['get', 'count', 'create', 'update', 'del'] as const satisfies readonly CrudAction[];

/** The generated handlers, in the order of the explorer. */
export const HANDLERS = [
  'create',
  'list',
  'count',
  'get',
  'update',
  'del',
  'restore',
] as const satisfies readonly CrudHandler[];

/** The handlers that carry out many writes. */
export const BATCH_HANDLERS = ['bulk', 'import'] as const satisfies readonly CrudBatchHandler[];

/** The hooks of a resource. */
export const HOOKS = [
  'beforeCreate',
  'afterCreate',
  'beforeUpdate',
  'afterUpdate',
  'beforeDel',
  'afterDel',
] as const;

/** Name of a hook. */
export type HookName = (typeof HOOKS)[number];

/** Message about an unknown name, with the nearest known one. */
export function unknownName(where: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  const hint = near ? `Did you mean "${near}"?` : `It takes ${known.join(', ')}.`;
  return `${where} has no "${name}". ${hint}`;
}

/** The known name that a misspelt one is likely to mean, if any. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  return known
    .map((candidate) => ({ candidate, steps: distance(candidate.toLowerCase(), name.toLowerCase()) }))
    .filter(({ steps }) => steps <= 2)
    .sort((a, b) => a.steps - b.steps)
    .map(({ candidate }) => candidate)[0];
}

/** Levenshtein distance between two names. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substituted));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
