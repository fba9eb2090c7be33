import { setImmediate as turn } from 'node:timers/promises';

/** Number of items to handle before other work gets its turn. */
const ITEMS_A_TURN = 200;

/** Does something with each item, without blocking the process if there are very many. */
export async function inTurns<T>(items: Iterable<T>, act: (item: T) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % ITEMS_A_TURN === 0) await turn();
  }
}
