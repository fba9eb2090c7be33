import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { BodyTooLargeError, MalformedRequestError } from '../../errors/index.js';
import { checkHarmless, parseJson } from '../../http/index.js';
import { carryOut } from './carry-out.js';
import type { AnyService } from './independence.js';
import type { Items } from './items.js';
import { type Line, LineReader } from './line-reader.js';
import type { Operation } from './operation.js';

/**
 * Creates a record of each line of a request, and answers each with a line. No more lines are read than there are results
 * taken: neither the request nor its answer is ever held in memory.
 */
export function importLines(items: Items, service: AnyService): Readable {
  const { bodyLimit } = items.request.routeOptions;
  const lines = new LineReader(bodyLimit);
  async function* results(): AsyncGenerator<string, void, undefined> {
    for await (const read of lines.read(chunksOf(items.request))) {
      const answered = await carryOut(
        read.map((line) => operationOf(line, bodyLimit)),
        items,
        service,
      );
      const texts = answered.map((result, i) => JSON.stringify({ line: read[i]?.number, ...result }));
      yield `${texts.join('\n')}\n`;
    }
  }
  return Readable.from(results(), { objectMode: false });
}

/** The bytes of the body; none if the request has no body. */
function chunksOf({ body }: FastifyRequest): AsyncIterable<Buffer> {
  return body === undefined || body === null ? Readable.from([]) : (body as AsyncIterable<Buffer>);
}

function operationOf({ bytes }: Line, bodyLimit: number): Operation {
  if (!bytes) return { kind: 'malformed', error: new BodyTooLargeError(bodyLimit) };
  try {
    const body = parseJson(bytes);
    checkHarmless(body);
    return { kind: 'create', body };
  } catch (error) {
    if (error instanceof MalformedRequestError) return { kind: 'malformed', error };
    throw error;
  }
}
