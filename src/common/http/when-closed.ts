import type { ServerResponse } from 'node:http';

const ACTIONS = Symbol('actions');
type Watched = ServerResponse & { [ACTIONS]?: (() => void)[] };

/**
 * How many listeners a response may have before Node warns of a leak. The framework alone takes ten for a stream,
 * Node's default, and eleven if the client is gone before the stream begins. The rest is for your own code.
 */
const MAX_LISTENERS = 32;

/** Calls a function when a response has been sent or given up. All such functions share one listener. */
export function whenClosed(response: ServerResponse, action: () => void): void {
  const watched = response as Watched;
  if (watched[ACTIONS]) {
    watched[ACTIONS].push(action);
    return;
  }
  watched[ACTIONS] = [action];
  watched.setMaxListeners(MAX_LISTENERS).once('close', act);
}

function act(this: Watched): void {
  for (const action of this[ACTIONS] ?? []) action();
}
