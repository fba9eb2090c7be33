import type { CrudContract } from '../crud-contract.js';
import type { TestRequest } from '../test-app.js';

/** An identifier that no record has. */
export const NOBODY = '0123456789abcdef01234567';
export const ID = /^[0-9a-f]{24}$/;
/** RFC 3339, UTC, milliseconds. */
export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The token that writes need, in a request. */
export function writer({ token }: CrudContract, headers?: Record<string, string>): TestRequest {
  return { ...(token && { token: token() }), headers };
}

/** Creates a record and gives its id. */
export async function create(contract: CrudContract, body: object): Promise<string> {
  const response = await contract.app().post(contract.path, body, writer(contract));
  expect(response).toMatchObject({ status: 201, body: { _id: expect.stringMatching(ID) } });
  return response.body._id as string;
}

/** Creates records one after another and gives their ids, newest first. */
export async function createMany(contract: CrudContract, howMany: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < howMany; i++) ids.unshift(await create(contract, { title: `Record ${i}` }));
  return ids;
}

/** Reads a record and its revision. */
export async function read(contract: CrudContract, id: string) {
  const { status, body, headers } = await contract.app().get(`${contract.path}/${id}`);
  expect(status).toBe(200);
  return { record: body as Record<string, unknown>, etag: headers.get('etag') };
}

/** The record that a body makes, as every response shows it. */
export function recordOf(contract: CrudContract, sent: object, id: unknown = expect.stringMatching(ID)) {
  return {
    _id: id,
    ...contract.defaults,
    ...sent,
    createdAt: expect.stringMatching(TIMESTAMP),
    updatedAt: expect.stringMatching(TIMESTAMP),
  };
}

export const idsOf = (records: { _id: string }[]) => records.map(({ _id }) => _id);
