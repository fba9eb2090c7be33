import type { mongo } from 'mongoose';
import type { TestApp } from './test-app.js';

export const each = (records: unknown, field: string) =>
  (records as Record<string, unknown>[]).map((record) => record[field]);

/** What a collection holds, in the order of the identifiers. */
export const storedIn = (app: TestApp, collection: string) =>
  app.database.collection(collection).find().sort({ _id: 1 }).toArray();

/** Stores so many todos by other means, of 10 KB each unless they have another description. */
export function storeTodos(database: mongo.Db, count: number, description = 'x'.repeat(10_000)) {
  const common = { description, completed: false, createdAt: new Date(), updatedAt: new Date(), __v: 0 };
  const todos = Array.from({ length: count }, (_, i) => ({ title: `Todo ${i}`, ...common }));
  return database.collection('todos').insertMany(todos);
}
