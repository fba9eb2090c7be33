import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

/** Of all requests: a connection each would take longer than many a test. */
const agent = new Agent({ keepAlive: true });

/** What a test sends; `body` is JSON unless it is a string or bytes, which are sent as they are. */
export interface TestRequest {
  body?: unknown;
  headers?: Record<string, string>;
  token?: string;
}

export interface TestResponse {
  status: number;
  headers: Headers;
  /** The parsed JSON body, or the records of an NDJSON one; the text where it is neither; undefined where there is none. */
  // Tests read into bodies whose shape they then assert.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  text: string;
}

/** Sends one request to an application, whichever it is; `path` may carry a query. Quicker than `fetch`, by far. */
export async function sendTo(
  url: string,
  method: string,
  path: string,
  { body, headers, token }: TestRequest = {},
): Promise<TestResponse> {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const sent = request(url + path, {
    method,
    agent,
    headers: {
      ...(payload !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(payload),
      }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
  });
  // A service may answer before it has read all, and hang up.
  sent.on('error', () => undefined).end(payload);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answered = new Headers();
  for (const [name, values = []] of Object.entries(response.headersDistinct))
    for (const value of values) answered.append(name, value);
  const text = await textOf(response);
  return {
    status: response.statusCode ?? 0,
    headers: answered,
    text,
    body: parsedBody(answered.get('content-type'), text),
  };
}

/** The body of an answer, by its content type. */
export function parsedBody(contentType: string | null, text: string): unknown {
  if (contentType?.startsWith('application/x-ndjson'))
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  return contentType?.includes('json') && text !== '' ? JSON.parse(text) : text || undefined;
}
