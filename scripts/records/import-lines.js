import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fail } from './fail.js';

/** Options of the commands that talk to a running service. */
export const SERVICE_OPTIONS = {
  url: { type: 'string', default: process.env.URL ?? `http://127.0.0.1:${process.env.PORT || 3000}` },
  token: { type: 'string' },
};

/**
 * Sends records to the import of a resource, and yields the result of each. The answer is read while lines
 * are sent.
 */
export async function* importLines({ url, token }, path, lines) {
  const target = new URL(`${path}/import`, `${url.replace(/\/$/, '')}/`);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = {
    'Content-Type': 'application/x-ndjson',
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  const request = send(target, { method: 'POST', headers });
  const lost = (error) =>
    fail(
      `The service at ${url} cannot be reached: ${error.message}. Start it with npm start, or pass --url.`,
    );
  request.on('error', lost);
  Readable.from(lines).pipe(request);
  const [response] = await once(request, 'response');
  response.on('error', lost);
  if (response.statusCode !== 200) {
    const text = (await response.toArray()).join('');
    fail(`${target.href} answered ${response.statusCode}: ${text}`);
  }
  for await (const line of createInterface({ input: response })) yield JSON.parse(line);
}
