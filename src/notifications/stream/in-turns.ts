import { setImmediate as turn } from 'node:timers/promises';

/** How many items are handled before others get their turn. */
const ITEMS_A_TURN = 200;

/** Does something with each item; a great many of them do not hold up the rest of the process. */
export async function inTurns<T>(items: Iterable<T>, act: (item: T) => void): Promise<void> {
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % ITEMS_A_TURN === 0) await turn();
  }
}
