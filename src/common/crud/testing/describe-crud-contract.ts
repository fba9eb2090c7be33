import type { INestApplication } from '@nestjs/common';

/** A JSON object. */
export type Json = Record<string, unknown>;

/** A body, or a function that makes one each time a test sends it. */
export type CrudContractBody = Json | (() => Json);

/** What the contract suite needs to know about a resource. */
export interface CrudContractOptions {
  /** Returns the running application. Called after your `beforeAll`. */
  app: () => INestApplication;
  /** Path of the resource, such as `/notes`. */
  path: string;
  /**
   * A valid body for a create, or a function that makes one, for unique values or for references to records
   * that `beforeAll` creates. Responses must show its fields unchanged.
   */
  valid: CrudContractBody;
  /** Invalid bodies for a create, by what is wrong with them. @default none */
  invalid?: Readonly<Record<string, CrudContractBody>>;
  /** A valid body for an update. @default the valid body */
  changes?: CrudContractBody;
  /** Fields of `valid` that responses do not show, such as a password. @default none */
  writeOnly?: readonly string[];
  /** Fields that a hook or an override computes, sent or not. Their values are not checked. @default none */
  computed?: readonly string[];
  /** Token of a caller who may do everything. @default none: the resource is public */
  token?: () => string;
  /** Token of a caller who must not change the first caller's records. @default none */
  otherToken?: () => string;
}

/**
 * Runs the contract of every generated resource against one of yours, over HTTP: create, get, list, page, query,
 * count, update, delete, strict bodies, identifiers, errors, and isolation. Works with Jest and test runners
 * that have the same globals.
 *
 * ```ts
 * describeCrudContract('notes', { app: () => app, path: '/notes', valid: { text: 'Buy stamps' }, invalid: { 'no text': {} } });
 * ```
 */
export function describeCrudContract(name: string, options: CrudContractOptions): void {
  const { path, valid, invalid = {}, changes = valid, writeOnly = [], computed = [] } = options;
  const { token, otherToken } = options;

  /** Sends a request to the resource, as the caller of a token. */
  const sendAs = async (
    bearer: string | undefined,
    method: string,
    below = '',
    body?: Json,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch((await options.app().getUrl()) + path + below, {
      method,
      headers: {
        ...(body && { 'Content-Type': 'application/json' }),
        ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      body: body && JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
  };
  const send = (method: string, below?: string, body?: Json, headers?: Record<string, string>) =>
    sendAs(token?.(), method, below, body, headers);
  const counted = async () => Number((await send('GET', '/count')).body.count);
  const create = async () => {
    const { status, body } = await send('POST', '', bodyOf(valid));
    if (status !== 201) throw new Error(`The valid body is rejected: ${JSON.stringify(body)}`);
    return String(body._id);
  };
  const shownAsSent = (body: Json) => without(body, [...writeOnly, ...computed]);

  describe(`${name}, by the contract of a generated resource`, () => {
    it('creates a record and shows it at its location', async () => {
      const sent = bodyOf(valid);
      const created = await send('POST', '', sent);
      expect([created.status, created.body]).toEqual([201, { _id: expect.stringMatching(/^[0-9a-f]{24}$/) }]);
      expect(created.headers.get('location')).toMatch(new RegExp(`${String(created.body._id)}$`));
      const shown = await send('GET', `/${String(created.body._id)}`);
      expect(shown.status).toBe(200);
      expect(shown.body).toMatchObject({ ...created.body, ...shownAsSent(sent) });
      for (const field of writeOnly) expect(shown.body).not.toHaveProperty(field);
      expect(shown.headers.get('etag')).toBe(created.headers.get('etag'));
    });

    it('answers with the whole record if the client prefers that', async () => {
      const prefer = { Prefer: 'return=representation' };
      const { status, body } = await send('POST', '', bodyOf(valid), prefer);
      expect(status).toBe(201);
      expect((await send('GET', `/${String(body._id)}`)).body).toEqual(body);
    });

    it('lists, pages and counts', async () => {
      const before = await counted();
      const id = await create();
      expect(await counted()).toBe(before + 1);
      const page = await send('GET', '?offset=0&limit=1');
      expect(page.body).toMatchObject({ count: before + 1, results: [{ _id: id }] });
      expect(page.headers.get('link')).toContain('rel="first"');
      for (const query of ['limit=0', 'limit=1000000', 'offset=-1', 'limit=ten', 'limt=1']) {
        expect([query, (await send('GET', `?${query}`)).status]).toEqual([query, 400]);
      }
    });

    it('answers a query in a body as it answers a list', async () => {
      await create();
      const listed = await send('GET', '?offset=0&limit=1');
      const { results, count } = listed.body;
      // Some versions of Node do not know the method.
      const allowed = listed.headers.has('accept-query') ? ['QUERY', 'POST'] : ['POST'];
      for (const method of allowed) {
        const query = (body: Json) => send(method, method === 'POST' ? '/query' : '', body);
        const answer = { status: 200, body: { results, count } };
        expect([method, await query({ offset: 0, limit: 1 })]).toMatchObject([method, answer]);
        const { status, body } = await query({ where: { noSuchField: 1 } });
        const errors = [expect.objectContaining({ pointer: '/where/noSuchField' })];
        expect([method, status, body.errors]).toEqual([method, 400, errors]);
      }
    });

    it('changes exactly what was sent', async () => {
      const id = await create();
      const before = (await send('GET', `/${id}`)).body;
      expect((await send('PATCH', `/${id}`, {})).body).toEqual({ updated: true });
      expect((await send('GET', `/${id}`)).body).toEqual(before);
      const sent = bodyOf(changes);
      expect((await send('PATCH', `/${id}`, sent)).body).toEqual({ updated: true });
      const after = (await send('GET', `/${id}`)).body;
      expect(after).toMatchObject(without({ ...before, ...shownAsSent(sent) }, ['updatedAt', ...computed]));
    });

    it('deletes a record for good', async () => {
      const id = await create();
      expect((await send('DELETE', `/${id}`)).status).toBe(200);
      for (const method of ['GET', 'PATCH'] as const) {
        const { status, body } = await send(method, `/${id}`, method === 'PATCH' ? {} : undefined);
        expect([method, status, body.code]).toEqual([method, 404, 'RECORD_NOT_FOUND']);
      }
    });

    it('rejects an identifier that is none', async () => {
      expect(await send('GET', '/1')).toMatchObject({ status: 400, body: { code: 'INVALID_ID' } });
    });

    it('names a field that it does not have', async () => {
      const before = await counted();
      const { status, body } = await send('POST', '', { ...bodyOf(valid), noSuchField: 1 });
      expect([status, body.errors]).toEqual([400, [expect.objectContaining({ pointer: '/noSuchField' })]]);
      expect(await counted()).toBe(before);
    });

    for (const [violation, body] of Object.entries(invalid)) {
      it(`rejects ${violation}`, async () => {
        const before = await counted();
        const response = await send('POST', '', bodyOf(body));
        expect(response).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
        expect(response.headers.get('content-type')).toBe('application/problem+json');
        expect(await counted()).toBe(before);
      });
    }

    if (token) {
      it('asks for a token', async () => {
        expect((await sendAs(undefined, 'POST', '', bodyOf(valid))).status).toBe(401);
      });
    }

    if (otherToken) {
      it('lets nobody else change or delete a record', async () => {
        const id = await create();
        const before = (await send('GET', `/${id}`)).body;
        expect((await sendAs(otherToken(), 'PATCH', `/${id}`, bodyOf(changes))).status).toBe(404);
        await sendAs(otherToken(), 'DELETE', `/${id}`);
        expect((await send('GET', `/${id}`)).body).toEqual(before);
      });
    }
  });
}

function bodyOf(body: CrudContractBody): Json {
  return typeof body === 'function' ? body() : body;
}

function without(body: Json, fields: readonly string[]): Json {
  return Object.fromEntries(Object.entries(body).filter(([field]) => !fields.includes(field)));
}
