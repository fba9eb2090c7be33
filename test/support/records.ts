import type { TestApp } from './test-app.js';

/** Creates a record and gives its identifier. */
export async function created(app: TestApp, path: string, body: object, token?: string): Promise<string> {
  const { status, body: answer } = await app.post(path, body, { token });
  expect(status).toBe(201);
  return answer._id as string;
}

/** One field of each record. */
export const each = (records: unknown, field: string) =>
  (records as Record<string, unknown>[]).map((record) => record[field]);

/** What a collection holds, in the order of the identifiers. */
export const storedIn = (app: TestApp, collection: string) =>
  app.database.collection(collection).find().sort({ _id: 1 }).toArray();
