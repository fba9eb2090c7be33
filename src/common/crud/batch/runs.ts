import type { ItemKind } from '../routes/routes.js';

/** Maximum number of items carried out at the same time. Unit: items. */
export const MAX_RUN = 128;

/** The part of an item that decides its order. An item without a kind does nothing. */
interface Ordered {
  readonly kind: ItemKind | 'malformed';
  readonly id?: string;
}

/**
 * Divides items into runs. The items of a run can be carried out concurrently with the same outcome as one
 * after another: they are of one kind and concern different records. The next run begins when the last one
 * has ended.
 *
 * @param isIndependent whether items of a kind cannot see or influence each other
 */
export function* runsOf<Item extends Ordered>(
  items: Iterable<Item>,
  isIndependent: (kind: ItemKind) => boolean,
): Generator<Item[], void, undefined> {
  let run: Item[] = [];
  let kind: ItemKind | undefined;
  const ids = new Set<string>();
  for (const item of items) {
    const id = item.kind === 'malformed' ? undefined : item.id?.toLowerCase();
    const joins =
      item.kind === 'malformed' ||
      kind === undefined ||
      (kind === item.kind && isIndependent(kind) && !ids.has(id ?? ''));
    if (!joins || run.length >= MAX_RUN) {
      yield run;
      run = [];
      ids.clear();
    }
    if (item.kind !== 'malformed') kind = item.kind;
    if (id !== undefined) ids.add(id);
    run.push(item);
  }
  if (run.length > 0) yield run;
}
