import { DatabaseUnavailableError } from '../../errors/index.js';
import { nextTimeSlice } from '../../http/index.js';
import { Turns } from '../service/turns.js';
import { type AnyService, independence } from './independence.js';
import type { ItemResult, Items } from './items.js';
import type { Operation } from './operation.js';
import { runsOf } from './runs.js';

/** Carries out operations with the same outcome as one after another, and returns the result of each. */
export async function carryOut(
  operations: Iterable<Operation>,
  items: Items,
  service: AnyService,
): Promise<ItemResult[]> {
  const results: ItemResult[] = [];
  const turns = new Turns();
  // Later operations may build on this one. Once the database is lost, they would only wait for it in vain.
  let isLost = false;
  let carried = 0;
  const one = (operation: Operation): ItemResult | Promise<ItemResult> => {
    const number = carried++;
    if (operation.kind === 'malformed') return items.refuse(operation.error);
    if (isLost) return items.refuse(new DatabaseUnavailableError(), operation);
    return items.carryOut(
      operation,
      number,
      operation.kind === 'create' ? { turn: turns.next() } : undefined,
    );
  };
  for (const run of runsOf(operations, independence(items.controller, service))) {
    await nextTimeSlice();
    const answered = await items.request.platform.carryOutInTurn(items, run, one);
    isLost ||= answered.some((result) => 'code' in result && result.code === 'DATABASE_UNAVAILABLE');
    results.push(...answered.map((result) => items.sent(result)));
  }
  return results;
}
