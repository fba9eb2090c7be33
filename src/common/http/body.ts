import { createHash } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { SetMetadata } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import {
  BodyTooLargeError,
  DomainError,
  errorMessages,
  MalformedRequestError,
  OverloadedError,
  UnsupportedMediaTypeError,
} from '../errors/index.js';
import type { HttpRequest } from '../request/index.js';
import { nextTimeSlice, parseJson } from './json-body.js';

/** How a body holds the items of a batch: as parts of one JSON value, or as lines of JSON, read as they arrive. */
export type BatchBody = 'operations' | 'lines';

/** The format of a body that is not one JSON value: it holds a batch, or is of a media type that is not read here. */
export type BodyFormat = BatchBody | { readonly consumes: string };

const BODY_FORMAT = 'http:body-format';

/** Declares the format of a route's body. */
export const HasBody = (format: BodyFormat): MethodDecorator => SetMetadata(BODY_FORMAT, format);

/** The format of the body of a handler's requests; undefined if it is one JSON value. */
export function bodyFormatOf(handler: object): BodyFormat | undefined {
  return Reflect.getMetadata(BODY_FORMAT, handler) as BodyFormat | undefined;
}

/** Has the bodies of a route read strictly, as those of resources are. */
export const StrictBody = (): MethodDecorator => RouteConfig({ isStrict: true });

/** Media types of bodies: JSON, JSON Merge Patch (RFC 7396), and lines of JSON (https://github.com/ndjson/ndjson-spec). */
const JSON_TYPE = 'application/json';
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';
export const NDJSON_TYPE = 'application/x-ndjson';

/** A type and its parameters (RFC 9110, section 8.3.1). */
const MEDIA_TYPE =
  /^([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)((?: *; *[\w-]+=(?:[\w.+-]+|"[^"\\]*"))*) *;?$/;

/** The content types that a body may have. JSON Merge Patch (RFC 7396) is for updates. */
function bodyTypesOf({ method }: HttpRequest, format: BodyFormat | undefined): readonly string[] {
  if (typeof format === 'object') return [format.consumes];
  if (format === 'lines') return [NDJSON_TYPE];
  return method === 'PATCH' ? [MERGE_PATCH_TYPE, JSON_TYPE] : [JSON_TYPE];
}

/** Why a body cannot be read: its media type, or its coding. Some clients send a type without a body. */
export function bodyError(request: HttpRequest, format: BodyFormat | undefined): Error | undefined {
  if (!hasBody(request)) return undefined;
  const { 'content-type': contentType = '', 'content-encoding': coding = 'identity' } = request.headers;
  const allowed = bodyTypesOf(request, format);
  const [, type = '', parameters = ''] = MEDIA_TYPE.exec(contentType.toLowerCase()) ?? [];
  if (!allowed.some((range) => isOfRange(type, range))) return new UnsupportedMediaTypeError(allowed);
  if (typeof format === 'object') return undefined;
  const [, charset = 'utf-8'] = /charset="?([^";]+)/.exec(parameters) ?? [];
  if (charset.trim() !== 'utf-8') return new UnsupportedMediaTypeError(allowed);
  if (coding.toLowerCase() === 'identity') return undefined;
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', errorMessages.unsupportedContentCoding, {
    headers: { 'Accept-Encoding': 'identity' },
  });
}

/** Whether a media type is one of a range such as `image/*` (RFC 9110, section 12.5.1). */
function isOfRange(type: string, range: string): boolean {
  const [kind, subtype] = range.toLowerCase().split('/');
  const [ownKind, ownSubtype] = type.split('/');
  return type !== '' && [ownKind, '*'].includes(kind) && [ownSubtype, '*'].includes(subtype);
}

/** Number of chunks that a body may have whatever their size. */
const FREE_CHUNKS = 4_096;

/** Minimum average size of the chunks of a body with more of them. Unit: bytes. */
const MIN_CHUNK = 16;

/** Number of chunks to keep before joining them: each has its own buffer in Node, which takes some 400 bytes more. */
const MAX_PARTS = 256;

/** Maximum total size of bodies that have not arrived as a whole. Unit: bytes. */
const MAX_UNFINISHED = 64 * 1_048_576;

/** The bodies that are arriving, the longest first, with what gives each up; and their total size. */
const unfinished = new Map<BodyBytes, (error: Error) => void>();
let unfinishedBytes = 0;

/** Collects chunks of bytes in few buffers, however small the chunks are. */
class BodyBytes {
  length = 0;
  private chunks = 0;
  private readonly parts: Buffer[] = [];

  /** @throws MalformedRequestError if there are too many small chunks, since each also takes time */
  add(chunk: Buffer): void {
    this.length += chunk.length;
    this.chunks += 1;
    if (this.chunks > FREE_CHUNKS + this.length / MIN_CHUNK)
      throw new MalformedRequestError(errorMessages.tooManyChunks);
    this.parts.push(chunk);
    if (this.chunks % MAX_PARTS === 0) this.parts.push(Buffer.concat(this.parts.splice(-MAX_PARTS)));
  }

  /** Returns all bytes since the last call. */
  take(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.parts.splice(0);
    return others.length === 0 ? first : Buffer.concat([first, ...others]);
  }
}

/**
 * Reads a body to its end. When too many bytes wait for the rest of their bodies, the body that has been under way
 * longest gives way.
 *
 * @throws BodyTooLargeError, MalformedRequestError, OverloadedError, or the error of the stream
 */
function readBody(payload: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const received = new BodyBytes();
    const onData = (chunk: Buffer) => {
      try {
        unfinished.set(received, giveUp);
        unfinishedBytes += chunk.length;
        received.add(chunk);
        if (received.length > limit) throw new BodyTooLargeError(limit);
        makeRoom();
      } catch (error) {
        giveUp(error as Error);
      }
    };
    const onEnd = (error?: Error) => {
      payload.off('data', onData).off('end', onEnd).off('error', onEnd);
      if (unfinished.delete(received)) unfinishedBytes -= received.length;
      if (!error) return resolve(received.take());
      // A stream of HTTP/2 ends only when it has been read.
      if (!connectionOf(payload)) payload.resume();
      reject(error);
    };
    const giveUp = (error: Error) => {
      stopReading(payload);
      onEnd(error);
    };
    if (Number(payload.headers['content-length']) > limit) return onEnd(new BodyTooLargeError(limit));
    payload.on('data', onData).on('end', onEnd).on('error', onEnd);
  });
}

function makeRoom(): void {
  for (const giveUp of unfinished.values()) {
    if (unfinishedBytes <= MAX_UNFINISHED) return;
    giveUp(new OverloadedError());
  }
}

/** A body from this size on takes longer to parse than a short request. Unit: bytes. */
const LARGE = 16_384;

declare module '../request/index.js' {
  interface RequestState {
    /** SHA-256 of the body's bytes as they arrived, if the request has an `Idempotency-Key` and a body. */
    crudBodyHash?: string;
  }
}

/** Reads a body as JSON; undefined without bytes. @throws the errors of {@link readBody} and {@link parseJson} */
export async function readJson(
  request: HttpRequest,
  payload: IncomingMessage,
  limit: number,
): Promise<unknown> {
  const bytes = await readBody(payload, limit);
  if (bytes.length === 0) return undefined;
  if (request.headers['idempotency-key'] !== undefined)
    request.crudBodyHash = createHash('sha256').update(bytes).digest('hex');
  if (bytes.length >= LARGE) await nextTimeSlice();
  return parseJson(bytes);
}

/**
 * A body as a stream, in which bytes that arrive together are one chunk. The socket is read only as fast as the stream.
 * Its error is a MalformedRequestError if the body comes in too many small chunks.
 */
export function streamBody(payload: IncomingMessage): Readable {
  const received = new BodyBytes();
  let flushing: NodeJS.Immediate | undefined;
  const flush = () => {
    clearImmediate(flushing);
    flushing = undefined;
    const bytes = received.take();
    if (bytes.length === 0 || body.push(bytes)) return;
    // After the end, stopping would stall the connection: its next request would never be read.
    if (!payload.readableEnded) stopReading(payload);
  };
  const body = new Readable({
    read() {
      connectionOf(payload)?.resume();
      payload.resume();
    },
    destroy(error, done) {
      clearImmediate(flushing);
      payload.off('data', onData);
      done(error);
    },
  });
  const onData = (chunk: Buffer) => {
    try {
      received.add(chunk);
      flushing ??= setImmediate(flush);
    } catch (error) {
      stopReading(payload);
      body.destroy(error as Error);
    }
  };
  // It may fail before anybody reads it, or when nobody will.
  body.on('error', () => undefined);
  payload.on('data', onData).on('end', () => {
    flush();
    body.push(null);
  });
  // A stream does not end when its client goes away.
  payload.on('close', () => {
    if (!payload.readableEnded) body.destroy();
  });
  return body;
}

/** The lines of an import that a parser of the application may have read. @throws Error if nothing is left of them */
export function linesOf(body: unknown): Readable {
  if (body === undefined || body instanceof Readable) return body ?? Readable.from([]);
  if (typeof body === 'string' || Buffer.isBuffer(body)) return Readable.from([Buffer.from(body)]);
  throw new Error(
    'A parser of the application reads application/x-ndjson as something else than text. Leave this type to CrudModule.',
  );
}

/** Throws away the rest of an answered request's body, for the connection's next request. When the server stops, it ends. */
export function discardRest(message: IncomingMessage, body: unknown, closing: AbortSignal): void {
  const connection = connectionOf(message);
  const end = () => connection?.destroySoon();
  if (closing.aborted) return end();
  if (message.complete) return;
  if (body instanceof Readable) body.destroy();
  message.resume();
  if (!connection) return;
  closing.addEventListener('abort', end);
  message.once('close', () => closing.removeEventListener('abort', end));
  connection.resume();
}

/** The connection that a message has for itself: not one of HTTP/2, nor one that a test injects. */
function connectionOf(message: IncomingMessage): Socket | undefined {
  return message instanceof IncomingMessage ? message.socket : undefined;
}

/** A paused message still reads 16 KiB of chunks from its socket, which may be as many chunks. */
function stopReading(payload: IncomingMessage): void {
  payload.pause();
  connectionOf(payload)?.pause();
}

/** Whether a request has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: HttpRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}
