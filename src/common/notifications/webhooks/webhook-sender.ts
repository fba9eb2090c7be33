import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import * as http from 'node:http';
import { connect, isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { type ResolveName, resolveTarget, type Target, TargetError, type TargetPolicy } from './targets.js';

/** How long an attempt may take, from the lookup of the address to the last byte. Unit: milliseconds. */
const ATTEMPT_MS = 15_000;

/** How much of a response body is read, so that the receiver can finish it. Unit: bytes. */
const MAX_BODY = 64 * 1_024;

/** How long that may take. Unit: milliseconds. */
const DRAIN_MS = 1_000;

/** Maximum size of a response header. Unit: bytes. */
const MAX_HEADER = 16 * 1_024;

/** Maximum number of interim responses (1xx) before the final one. */
const MAX_INTERIM = 10;

const USER_AGENT = 'posts-and-todos-webhooks/1';

/** A message to one receiver. */
export interface WebhookMessage {
  /** Identifier of the event. */
  readonly id: string;
  readonly url: string;
  /** The secrets that sign it, each `whsec_` and base64. */
  readonly secrets: readonly string[];
  /** JSON text, sent byte for byte. */
  readonly body: string;
}

/** The result of sending a message. */
export interface SendResult {
  /** Status of the response, if there was one. */
  readonly status?: number;
  /** Why the message does not count as delivered, in words. */
  readonly error?: string;
}

/** Additional options of a sender. */
export interface SenderOptions {
  /** Resolves the names of targets, when they are registered and at each attempt. @default the DNS */
  readonly resolve?: ResolveName;
  /** Trusted certificate authorities. @default those of Node */
  readonly ca?: string;
  /** How long an attempt may take. Unit: milliseconds. @default 15000 */
  readonly attemptMs?: number;
}

/** Sends webhooks to checked addresses only, each over its own connection, whatever the receiver does. */
export class WebhookSender {
  constructor(
    private readonly policy: TargetPolicy,
    private readonly options: SenderOptions = {},
  ) {}

  /** Why messages cannot be sent to a URL, for the client; undefined if they can. */
  async violationOf(url: string): Promise<string | undefined> {
    try {
      await resolveTarget(url, this.policy, this.options.resolve);
      return undefined;
    } catch (error) {
      if (error instanceof TargetError) return error.message;
      throw error;
    }
  }

  /** Sends a message once. Only a 2xx counts as delivered. @throws the signal's reason if it is aborted meanwhile */
  async send(message: WebhookMessage, stopping?: AbortSignal): Promise<SendResult> {
    const attemptMs = this.options.attemptMs ?? ATTEMPT_MS;
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = setTimeout(end, attemptMs);
    stopping?.addEventListener('abort', end);
    const aborted = new Promise<never>((_resolve, reject) => {
      ending.signal.addEventListener('abort', () => reject(ending.signal.reason as Error));
    });
    try {
      // Its addresses are passed to the socket, so that nothing looks them up again between the check and the connection.
      const looking = resolveTarget(message.url, this.policy, this.options.resolve);
      const target = await Promise.race([looking, aborted]);
      return resultOf(await this.post(target, message, ending.signal));
    } catch (error) {
      stopping?.throwIfAborted();
      if (ending.signal.aborted) return { error: `There was no answer within ${attemptMs / 1_000} s.` };
      return { error: messageOf(error) };
    } finally {
      clearTimeout(timer);
      stopping?.removeEventListener('abort', end);
    }
  }

  /** Resolves with the status once the body has been read or cut off. */
  private async post(target: Target, message: WebhookMessage, signal: AbortSignal): Promise<number> {
    const fail = (error: Error) => request.emit('error', error);
    const request = http.request(target.url, {
      // The socket is already encrypted.
      protocol: 'http:',
      method: 'POST',
      headers: {
        host: target.url.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(message.body),
        'user-agent': USER_AGENT,
        ...signedHeaders(message),
      },
      // A new connection: a kept one may belong to an address that the name no longer has. A socket can fail
      // before http listens to it, and its error would end the process.
      createConnection: () => this.connect(target).on('error', fail),
      maxHeaderSize: MAX_HEADER,
      signal,
    });
    let interim = 0;
    request.on('information', () => {
      if (++interim > MAX_INTERIM) fail(new ResponseError('The answer has too many interim answers.'));
    });
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      fail(new ResponseError('The answer switches protocols.'));
    });
    // Only the status counts: errors in the body, such as invalid chunks, are not failures.
    request.on('error', () => undefined);
    request.end(message.body);
    try {
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      const { statusCode = 0 } = response;
      // Node also accepts 099, which is not a status (RFC 9110, section 15).
      if (statusCode < 100) throw new ResponseError(NOT_HTTP);
      await drain(response);
      return statusCode;
    } finally {
      request.destroy();
    }
  }

  private connect({ url, host, addresses }: Target): Socket {
    const isEncrypted = url.protocol === 'https:';
    const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    // Only the checked addresses. Later, as every other lookup: a socket that fails while it is made has no listener yet.
    const lookup: LookupFunction = (_name, _all, callback) => setImmediate(() => callback(null, all));
    const to = { host, port: Number(url.port || (isEncrypted ? 443 : 80)), lookup, autoSelectFamily: true };
    if (!isEncrypted) return connect(to);
    return connectTls({
      ...to,
      servername: isIP(host) ? '' : host,
      ALPNProtocols: ['http/1.1'],
      // Regardless of NODE_TLS_REJECT_UNAUTHORIZED.
      rejectUnauthorized: true,
      ca: this.options.ca,
    });
  }
}

const NOT_HTTP = 'The answer is not HTTP.';

/** The receiver's response is not valid HTTP. */
class ResponseError extends Error {}

/** Reads a body to its end, or as far as the limits allow. */
async function drain(response: http.IncomingMessage): Promise<void> {
  let read = 0;
  try {
    for await (const chunk of addAbortSignal(AbortSignal.timeout(DRAIN_MS), response)) {
      read += (chunk as Buffer).length;
      if (read > MAX_BODY) return;
    }
  } catch {
    // A reset, an invalid chunk, or our own deadline.
  }
}

function resultOf(status: number): SendResult {
  if (status >= 200 && status < 300) return { status };
  if (status >= 300 && status < 400)
    return { status, error: `The answer is a redirect (${status}); redirects are not followed.` };
  return { status, error: `The answer has the status ${status}.` };
}

function messageOf(error: unknown): string {
  if (error instanceof TargetError || error instanceof ResponseError) return error.message;
  // With several addresses, each has its own error.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code } = Object(first) as { code?: string };
  if (code === 'HPE_HEADER_OVERFLOW') return 'The header of the answer is too large.';
  if (code?.startsWith('HPE_')) return NOT_HTTP;
  return code === undefined ? 'The connection failed.' : `The connection failed (${code}).`;
}

/**
 * The headers with which a receiver verifies a message, with a signature for each secret
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
function signedHeaders({ id, body, secrets }: WebhookMessage) {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
