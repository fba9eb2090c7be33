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

/** Sends one request to an application, whichever it is; `path` may carry a query. */
export async function sendTo(
  url: string,
  method: string,
  path: string,
  { body, headers, token }: TestRequest = {},
): Promise<TestResponse> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? (body as string) : JSON.stringify(body),
  });
  const text = await response.text();
  const { status, headers: answered } = response;
  return { status, headers: answered, text, body: parsedBody(answered.get('content-type'), text) };
}

/** The body of an answer, by its content type. */
export function parsedBody(contentType: string | null, text: string): unknown {
  if (contentType?.startsWith('application/x-ndjson'))
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  return contentType?.includes('json') && text !== '' ? JSON.parse(text) : text || undefined;
}
