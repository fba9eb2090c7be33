import type { PagePlace } from '../../http/index.js';
import { type HttpRequest, type HttpResponse, rawOf, whenClosed } from '../../platform/index.js';
import { bytesOf, followSize } from '../store/shared-reads.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { PageQuery } from '../query/list-query.js';
import type { AnswerContext } from './answers.js';

/** Maximum size of a page that is not counted and is sent as a whole. Unit: bytes. */
const SMALL = 262_144;
/** Assumed size of a record before the first page is read. Unit: bytes. */
const FIRST_GUESS = 65_536;

declare module '../../platform/index.js' {
  interface RequestState {
    /** The memory of the requested page, if it may be large. */
    pagePlace?: PagePlace;
    /** Size of the page's records. Unit: bytes. */
    pageBytes?: number;
  }
}

/** Size of a record in recent pages of each resource. Unit: bytes. */
const sizes = new WeakMap<CrudDefinition, number>();

/**
 * Waits until there is memory for the requested page; the memory is released when the answer has been sent.
 * While a request waits, others take its place.
 *
 * @throws OverloadedError, TooManyRequestsError if no memory becomes free in time
 */
export async function reservePage(
  request: HttpRequest,
  reply: HttpResponse,
  definition: CrudDefinition,
  { limit }: PageQuery,
): Promise<void> {
  const bytes = limit * (sizes.get(definition) ?? FIRST_GUESS);
  if (bytes <= SMALL) return;
  const place = await request.platform.transfers.largePage({ request, reply }, bytes);
  if (rawOf(reply).destroyed) place.leave();
  whenClosed(rawOf(reply), () => place.leave());
  request.pagePlace = place;
}

/** Records how much memory a page really takes. */
export function notePage({ request, definition }: AnswerContext, records: readonly object[]): void {
  const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
  request.pageBytes = bytes;
  request.pagePlace?.resize(bytes);
  // The size of partial records tells nothing about whole ones.
  if (records.length === 0 || request.crudQuery?.fields) return;
  sizes.set(definition, followSize(sizes.get(definition), bytes / records.length));
}

/** Whether a page is too large to be sent as a whole. */
export function isLargePage({ pageBytes = 0 }: HttpRequest): boolean {
  return pageBytes > SMALL;
}
