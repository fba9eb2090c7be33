import type { ServerResponse } from 'node:http';

const ACTIONS = Symbol('actions');
type Watched = ServerResponse & { [ACTIONS]?: (() => void)[] };

/**
 * Calls a function when a response has been sent or given up. All such functions share one listener: the
 * framework adds up to nine to a streamed response, and Node warns about more than ten.
 */
export function whenClosed(response: ServerResponse, action: () => void): void {
  const watched = response as Watched;
  if (watched[ACTIONS]) {
    watched[ACTIONS].push(action);
    return;
  }
  watched[ACTIONS] = [action];
  watched.once('close', act);
}

function act(this: Watched): void {
  for (const action of this[ACTIONS] ?? []) action();
}
