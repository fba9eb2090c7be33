import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Reservation, stepAside, whenClosed } from '../../http/index.js';
import { bytesOf, followSize } from '../definition/bytes-of.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { isPageQuery } from '../query/list-query.js';
import type { AnswerContext } from './answers.js';

/** Size up to which a page is not counted, and is sent as a whole. Unit: bytes. */
const SMALL = 262_144;
/** Assumed size of a record before the first page was read. Unit: bytes. */
const FIRST_GUESS = 65_536;

declare module 'fastify' {
  interface FastifyRequest {
    /** Memory of the page that is asked for, if it may be large. */
    pageReservation?: Reservation;
    /** Bytes that the records of the page take. */
    pageBytes?: number;
  }
}

/** Largest size of a record of a resource in its last pages. Unit: bytes. */
const sizes = new WeakMap<CrudDefinition, number>();

/**
 * Waits until there is memory for the page that a request asks for; it is given back when the answer has been sent. While a
 * request waits, others have its place.
 *
 * @throws OverloadedError if there is none in time
 */
export async function reservePage(
  request: FastifyRequest,
  reply: FastifyReply,
  definition: CrudDefinition,
): Promise<void> {
  const query = request.crudQuery;
  if (!query || !isPageQuery(query)) return;
  const bytes = query.limit * (sizes.get(definition) ?? FIRST_GUESS);
  if (bytes <= SMALL) return;
  const { budget } = request.server.transfers;
  const comeBack = budget.isFree(request, bytes) ? undefined : stepAside(request);
  const reservation = await budget.reserve(request, bytes);
  if (reply.raw.destroyed) reservation.release();
  whenClosed(reply.raw, () => reservation.release());
  request.pageReservation = reservation;
  await comeBack?.();
}

/** Takes note of what a page really takes. */
export function notePage({ request, definition }: AnswerContext, records: readonly object[]): void {
  const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
  request.pageBytes = bytes;
  request.pageReservation?.resize(bytes <= SMALL ? 0 : bytes);
  // Parts of records say nothing of whole ones.
  if (records.length === 0 || request.crudQuery?.fields) return;
  sizes.set(definition, followSize(sizes.get(definition), bytes / records.length));
}

/** Whether a page is too large to be sent as a whole. */
export function isLargePage({ pageBytes = 0 }: FastifyRequest): boolean {
  return pageBytes > SMALL;
}
