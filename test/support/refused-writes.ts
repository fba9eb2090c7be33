import { Types } from 'mongoose';
import { ACME } from './tenants.js';
import type { TestApp, TestResponse } from './test-app.js';

/** Tries every write of posts, expects each to be refused alike, and nothing to be changed. */
export async function expectWritesRefused(
  app: TestApp,
  headers: Record<string, string>,
  expectation: (response: TestResponse, instance: string) => void,
): Promise<void> {
  const posts = app.database.collection('posts');
  const now = new Date();
  const post = { title: 'Of acme', tenant: new Types.ObjectId(ACME), createdAt: now, updatedAt: now, __v: 0 };
  const { insertedId } = await posts.insertOne(post);
  const before = await posts.find().toArray();
  const one = `/posts/api/${insertedId.toHexString()}`;
  expectation(await app.post('/posts/api', { title: 'New' }, { headers }), '/posts/api');
  expectation(await app.patch(one, { title: 'Changed' }, { headers }), one);
  expectation(await app.del(one, { headers }), one);
  expect(await posts.find().toArray()).toEqual(before);
}
