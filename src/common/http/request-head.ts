import type { IncomingMessage } from 'node:http';
import { errorMessages } from '../errors/index.js';

/** A host as RFC 3986, section 3.2.2 writes it, with a port; no user information, no path. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Headers of which only one may be sent, since a proxy before the service could act on another one than the service. */
const SINGLE = ['host', 'authorization'];

/** A sentence about the fault in the head of a request that Node has accepted; undefined if there is none (RFC 9112). */
export function headFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  const { host, 'transfer-encoding': coding } = headers;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return errorMessages.malformedHttp;
  if (host === undefined ? httpVersion === '1.1' : !HOST.test(host)) return errorMessages.malformedHttp;
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return errorMessages.unknownTransferCoding;
  const repeated = SINGLE.find((name) => headers[name] !== undefined && isRepeated(rawHeaders, name));
  return repeated && errorMessages.repeatedHeader(repeated);
}

/** Whether a header is there more than once: Node gives its first value only. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i];
    if (raw?.length === name.length && raw.toLowerCase() === name) count += 1;
  }
  return count > 1;
}
