import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from '../../test/support/tenants.js';
import { KEPT, postWhole } from '../../test/support/whole-records.js';
import { CommentsModule } from './comments.module.js';

const [ada, bob] = await Promise.all([tokenOf(ACME, { sub: 'ada' }), tokenOf(GLOBEX, { sub: 'bob' })]);

describe('comments below articles', () => {
  const app = useResourceApp(CommentsModule);
  beforeEach(() => app.empty());

  const pathOf = async () => {
    const { body } = await app.post('/articles', { title: 'Ten years of us' }, { token: acme });
    return `/articles/${body._id}/comments`;
  };

  it('are written by whoever has signed in, and read by everybody', async () => {
    const path = await pathOf();
    const { status, body, headers } = await postWhole(app, path, { text: 'Congratulations!' }, bob);
    expect(status).toBe(201);
    const [, , article] = path.split('/');
    expect(body).toEqual({ ...KEPT, text: 'Congratulations!', article, author: 'bob' });
    expect(headers.get('location')).toBe(`${path}/${body._id}`);
    expect((await app.get(path)).body).toEqual([body]);
    expect((await app.get(`${path}?limit=5`)).body).toEqual({
      results: [body],
      count: 1,
      next: null,
      prev: null,
    });
    expect((await app.get(`${path}/count`)).body).toEqual({ count: 1 });
    expect((await app.get(`${path}/${body._id}`)).body).toEqual(body);
  });

  it('are changed and deleted by their author only', async () => {
    const path = await pathOf();
    const one = `${path}/${(await app.post(path, { text: 'First!' }, { token: ada })).body._id}`;
    expectNotFound(await app.patch(one, { text: 'Mine' }, { token: bob }), one, 'Comment');
    expectNotFound(await app.del(one, { token: bob }), one, 'Comment');
    expect((await app.patch(one, { text: 'Second.' }, { token: ada })).body).toEqual({ updated: true });
    expect((await app.get(one)).body.text).toBe('Second.');
    expect((await app.del(one, { token: ada })).body).toEqual({ deleted: true });
  });

  it('need a token with a subject to be written', async () => {
    const path = await pathOf();
    expectUnauthenticated(await app.post(path, { text: 'Hello' }), path);
    expectProblem(await app.post(path, { text: 'Hello' }, { token: acme }), {
      status: 403,
      code: 'CLAIM_REQUIRED',
      detail: 'The token must carry the claim "sub", with a value of the right type.',
      instance: path,
    });
  });

  it('refuse a body that names the article or the author', async () => {
    const path = await pathOf();
    expectInvalid(
      await app.post(path, { text: 'Hello', author: 'bob', article: ACME }, { token: ada }),
      path,
      { pointer: '/author', detail: '"author" is not an input field. Allowed: text.' },
      { pointer: '/article', detail: '"article" is not an input field. Allowed: text.' },
    );
  });

  it('are below their own article and no other', async () => {
    const [path, other] = [await pathOf(), await pathOf()];
    const { _id } = (await app.post(path, { text: 'Hello' }, { token: ada })).body;
    expectNotFound(await app.get(`${other}/${_id}`), `${other}/${_id}`, 'Comment');
    expectNotFound(await app.del(`${other}/${_id}`, { token: ada }), `${other}/${_id}`, 'Comment');
    expect((await app.get(other)).body).toEqual([]);
  });

  it('are not there without the article', async () => {
    const path = `/articles/${ACME}/comments`;
    expectNotFound(await app.get(path), path, 'Article');
    expectNotFound(await app.get(`${path}/count`), `${path}/count`, 'Article');
    expectNotFound(await app.post(path, { text: 'Hello' }, { token: ada }), path, 'Article');
    expectProblem(await app.get('/articles/1/comments'), {
      status: 400,
      code: 'INVALID_ID',
      detail: 'The id must be 24 hexadecimal digits.',
      instance: '/articles/1/comments',
      errors: [{ parameter: 'articleId', detail: 'The id must be 24 hexadecimal digits.' }],
    });
  });

  it('go with their article', async () => {
    const [path, other] = [await pathOf(), await pathOf()];
    for (const token of [ada, bob]) await app.post(path, { text: 'Hello' }, { token });
    await app.post(other, { text: 'Still here' }, { token: ada });
    const article = path.replace(/\/comments$/, '');
    expectNotFound(await app.del(article, { token: globex }), article, 'Article');
    expect((await app.get(`${path}/count`)).body).toEqual({ count: 2 });
    expect((await app.del(article, { token: acme })).body).toEqual({ deleted: true });
    expect(await app.database.collection('comments').distinct('text')).toEqual(['Still here']);
  });
});
