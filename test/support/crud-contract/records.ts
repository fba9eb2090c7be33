import { Types } from 'mongoose';
import { type Violation } from '../../../src/common/errors/index.js';
import type { CrudContract } from '../crud-contract.js';
import { fault } from '../faults.js';
import type { TestResponse } from '../test-app.js';
import { ID, KEPT } from '../whole-records.js';

/** An identifier that no record has. */
export const NOBODY = '0123456789abcdef01234567';

type Headers = Record<string, string>;

/** A contract, with requests to its resource; writes send the token that they need. */
export function clientOf(contract: CrudContract) {
  const { app, path, token, full } = contract;
  const writer = (headers?: Headers) => ({ ...(token && { token: token() }), headers });
  const at = (id: string) => `${path}/${id}`;
  const client = {
    ...contract,
    at,
    /** Reads below the path of the collection. */
    get: (below = '', headers?: Headers) => app().get(path + below, { headers }),
    post: (body: unknown, headers?: Headers) => app().post(path, body, writer(headers)),
    patch: (id: string, body: unknown, headers?: Headers) => app().patch(at(id), body, writer(headers)),
    del: (id: string, headers?: Headers) => app().del(at(id), writer(headers)),

    /** Creates a record, by default one with every field, and gives its id. */
    async create(body: object = full): Promise<string> {
      const response = await client.post(body);
      expect(response).toMatchObject({ status: 201, body: { _id: ID } });
      return response.body._id as string;
    },
    /** Creates a record and copies of it, each a millisecond newer, and gives their ids, newest first. */
    async createMany(howMany: number): Promise<string[]> {
      const collection = app().database.collection(contract.collection);
      const first = new Types.ObjectId(await client.create({ title: 'One of many' }));
      const { createdAt, _outbox, ...record } = { ...(await collection.findOne({ _id: first })) };
      const copies = Array.from({ length: howMany - 1 }, (_, i) => ({
        ...{ ...record, _id: new Types.ObjectId() },
        createdAt: new Date(Number(createdAt) + i + 1),
      }));
      if (copies.length > 0) await collection.insertMany(copies);
      return [first, ...copies.map(({ _id }) => _id)].map(String).reverse();
    },
    async read(id: string) {
      const { status, body, headers } = await client.get(`/${id}`);
      expect(status).toBe(200);
      return { record: body as Record<string, unknown>, etag: headers.get('etag') ?? '' };
    },
    async created() {
      const id = await client.create();
      return { id, ...(await client.read(id)) };
    },
    /** The record that a body makes, as every response shows it. */
    recordOf: (sent: object, _id: unknown = ID) => ({ ...KEPT, _id, ...contract.defaults, ...sent }),
    notInput: (field: string): Violation =>
      fault(`/${field}`, `is not an input field. Allowed: ${['title', ...contract.optional].join(', ')}.`),
  };
  return client;
}

export type CrudClient = ReturnType<typeof clientOf>;

export function expectUpdated({ status, body }: TestResponse): void {
  expect({ status, body }).toEqual({ status: 200, body: { updated: true } });
}

export const idsOf = (records: { _id: string }[]) => records.map(({ _id }) => _id);
