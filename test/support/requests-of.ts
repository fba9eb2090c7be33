import type { TestApp } from './test-app.js';

/** The requests of one caller, or of one without a token. */
export function requestsOf(app: TestApp, token?: string) {
  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    app.request(method, path, { body, headers, token });
  return {
    send,
    status: async (...request: Parameters<typeof send>) => (await send(...request)).status,
    get: async (path: string) => (await send('GET', path)).body as unknown,
    /** Makes a record. @returns its identifier */
    create: (path: string, body: object) => app.create(path, body, token),
    /** The member `text` of each record of a list, in its order. */
    texts: async (path: string) =>
      ((await send('GET', path)).body as { text: string }[]).map(({ text }) => text),
  };
}
