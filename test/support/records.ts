import type { TestApp } from './test-app.js';

export const each = (records: unknown, field: string) =>
  (records as Record<string, unknown>[]).map((record) => record[field]);

/** What a collection holds, in the order of the identifiers. */
export const storedIn = (app: TestApp, collection: string) =>
  app.database.collection(collection).find().sort({ _id: 1 }).toArray();
