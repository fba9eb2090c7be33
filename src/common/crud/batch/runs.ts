import type { ItemKind } from '../routes/routes.js';

/** Maximum number of items that are carried out at a time. Unit: items. */
export const MAX_RUN = 128;

/** An item, as far as the order matters; of no kind if it does nothing. */
interface Ordered {
  readonly kind: ItemKind | 'malformed';
  readonly id?: string;
}

/**
 * Divides items into runs that can be carried out at a time with the outcome of one after another: those of one kind, about
 * records that differ. The next run begins when the last one has ended.
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
    if (item.kind !== 'malformed') {
      const id = item.id?.toLowerCase();
      const joins = kind === undefined || (kind === item.kind && isIndependent(kind) && !ids.has(id ?? ''));
      if (!joins || run.length >= MAX_RUN) {
        yield run;
        run = [];
        ids.clear();
      }
      kind = item.kind;
      if (id !== undefined) ids.add(id);
    }
    run.push(item);
  }
  if (run.length > 0) yield run;
}
