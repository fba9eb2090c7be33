import { IsText } from '../../src/common/fields/index.js';
import { each } from './records.js';
import type { TestApp, TestResponse } from './test-app.js';

/** An id that no record has. */
export const NOWHERE = '665f1c2ab7e3a90d4c8b4567';

/** The body of a create in the tests of batches. */
export class NoteInput {
  @IsText({ min: 1, max: 40 }) text!: string;
  @IsText({ max: 40, optional: true }) sku?: string;
}

export const bulk = (app: TestApp, path: string, operations: unknown[], token?: string) =>
  app.post(`${path}/bulk`, { operations }, { token });

/** The status of each result, with its code if it is a problem. */
export const results = (response: TestResponse) =>
  (response.body.results as Record<string, unknown>[]).map(({ status, code }) =>
    code === undefined ? status : `${String(status)} ${String(code)}`,
  );

export const ids = ({ body }: TestResponse) => each(body.results, '_id') as string[];

export const create = (text: string, sku?: string) => ({ create: { text, sku } });

export const titled = (title: string) => ({ create: { title } });
