/** Pieces of work that wait, the longest first. */
const waiting: (() => void)[] = [];
let isTaken = false;

/**
 * Waits until a piece of long work may go on: one in each turn of the event loop, whoever it is for, so that short
 * requests are served in between, however many long ones there are.
 */
export function nextTimeSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (isTaken) return;
    isTaken = true;
    setImmediate(giveNext);
  });
}

function giveNext(): void {
  const next = waiting.shift();
  isTaken = next !== undefined;
  if (!next) return;
  next();
  setImmediate(giveNext);
}
