import type { ServerResponse } from 'node:http';
import { OverloadedError } from '../errors/index.js';
import { type HttpRequest, type HttpResponse, rawOf } from '../platform/index.js';
import type { Place } from './fair-queue.js';

declare module '../platform/index.js' {
  interface Platform {
    /** Carries out the items of a batch in the places of its client. */
    readonly carryOutInTurn: CarryOutInTurn;
  }
  interface RequestState {
    /** The place of the request among the running ones; null before and after, and where load is not limited. */
    load?: { place: Place; deadline: NodeJS.Timeout } | null;
  }
}

/**
 * Carries out the items of a batch, which begin in their order. The batch waits for one place, as a request of its client
 * does, unless it still has that of its own request. While its client's share has more places, items are carried out
 * in them at the same time. All of them are given back at the end.
 *
 * @returns the results, in the order of the items
 * @throws OverloadedError if the client goes away before its turn
 */
export type CarryOutInTurn = <Item, Result>(
  batch: BatchRequest,
  items: readonly Item[],
  carryOut: (item: Item) => Result | Promise<Result>,
) => Promise<Result[]>;

/** A request with many items, and its answer. */
export interface BatchRequest {
  readonly request: HttpRequest;
  readonly reply: HttpResponse;
}

/**
 * Gives up the place of a request while it waits for something else, so that it does not block others.
 *
 * @returns a function that waits for a new place; it never resolves if the request has been given up
 */
export function stepAside(request: HttpRequest): () => Promise<void> {
  const { load } = request;
  load?.place.leave();
  return () =>
    new Promise((resolve) => {
      if (!load) resolve();
      else if (request.load === load) takeTurn(request, load.place, resolve);
    });
}

export function takeTurn(request: HttpRequest, place: Place, start: () => void): void {
  place.take(() => {
    // The client may have gone away by the time it is this request's turn.
    if (rawOf(request).socket.destroyed) leave(request);
    else start();
  });
}

/**
 * Carries out items, which begin in their order, in a place and as many others as there are.
 *
 * @param next takes another place; undefined if there is none
 * @returns the results, in the order of the items
 */
export async function carryOutTogether<Item, Result>(
  items: readonly Item[],
  carryOut: (item: Item) => Result | Promise<Result>,
  first: Pick<Place, 'leave'> | undefined,
  next: () => Pick<Place, 'leave'> | undefined,
): Promise<Result[]> {
  const rest = items.entries();
  const results: Result[] = [];
  const work = async (place?: Pick<Place, 'leave'>) => {
    try {
      for (const [i, item] of rest) results[i] = await carryOut(item);
    } finally {
      place?.leave();
    }
  };
  const works = [work(first)];
  while (works.length < items.length) {
    const place = next();
    if (!place) break;
    works.push(work(place));
  }
  await Promise.all(works);
  return results;
}

/** Takes a place when it is its turn. */
export function turnOf(place: Place, raw: ServerResponse): Promise<Place> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      place.leave();
      reject(new OverloadedError());
    };
    if (raw.destroyed) return giveUp();
    raw.once('close', giveUp);
    place.take(() => {
      raw.off('close', giveUp);
      resolve(place);
    });
  });
}

/** Ends the turn of a request. */
export function leave(request: HttpRequest): void {
  const { load } = request;
  if (!load) return;
  request.load = null;
  clearTimeout(load.deadline);
  load.place.leave();
}
