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
