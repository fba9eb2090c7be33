import type { IncomingMessage } from 'node:http';
import { errorMessages } from '../errors/index.js';

/** A host as RFC 3986, section 3.2.2 writes it, with a port; no user information, no path. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/**
 * Headers that may be sent only once, since a proxy in front of the service could use another one than the
 * service does.
 */
const SINGLE = ['host', 'authorization'];

/** A sentence about a fault in the head of a request that Node has accepted, if there is one (RFC 9112). */
export function headFault({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  const { host, 'transfer-encoding': coding } = headers;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return errorMessages.malformedHttp;
  if (host === undefined ? httpVersion === '1.1' : !HOST.test(host)) return errorMessages.malformedHttp;
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return errorMessages.unknownTransferCoding;
  const repeated = SINGLE.find((name) => headers[name] !== undefined && isRepeated(rawHeaders, name));
  return repeated && errorMessages.repeatedHeader(repeated);
}

/** Whether a header is repeated: Node only returns its first value. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i];
    if (raw?.length === name.length && raw.toLowerCase() === name) count += 1;
  }
  return count > 1;
}
