import type { TestApp, TestResponse } from './test-app.js';

/** An identifier, in a whole record. */
export const ID = expect.stringMatching(/^[0-9a-f]{24}$/) as string;

/** RFC 3339, UTC, milliseconds. */
export const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

/** What every record has besides its own fields. */
export const KEPT = { _id: ID, createdAt: TIMESTAMP, updatedAt: TIMESTAMP };

/** Creates a record and gives back the whole answer. */
export function postWhole(app: TestApp, path: string, body: unknown, token?: string): Promise<TestResponse> {
  return app.post(path, body, { token, headers: { Prefer: 'return=representation' } });
}
