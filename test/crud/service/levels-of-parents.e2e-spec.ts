/** @mongodb */
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../../src/common/fields/index.js';
import { claim, currentTenant } from '../../../src/common/tenancy/index.js';
import { expectInvalid, expectNotFound, expectProblem } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { resource, feature } from '../../support/resource.js';

const [editor, stranger] = await Promise.all([
  tokenOf(ACME, { role: 'editor' }),
  tokenOf(GLOBEX, { role: 'editor' }),
]);

const tenant = { isolationFields: { all: { tenant: currentTenant } }, kept: { tenant: IsIdentifier() } };
const threads = resource({ name: 'threads', ...tenant });
const replies = resource({
  name: 'replies',
  path: 'threads/:threadId/replies',
  parent: { entity: threads.entity, param: 'threadId', field: 'thread' },
  kept: { thread: IsReference(() => threads.entity), role: IsText({ max: 20 }) },
  // Says nothing of the tenant: only the thread, at the top, does.
  isolationFields: { all: { role: claim('role') } },
});
const below = {
  parent: { entity: replies.entity, param: 'replyId', field: 'reply' },
  kept: { reply: IsReference(() => replies.entity), role: IsText({ max: 20 }) },
  isolationFields: { all: { role: claim('role') } },
};

describe('resources with two levels of parents', () => {
  const app = useResourceApp(
    CrudModule.forFeature(threads),
    CrudModule.forFeature(replies),
    feature({ name: 'reactions', path: 'threads/:threadId/replies/:replyId/reactions', ...below }),
    feature({ name: 'notes', path: 'replies/:replyId/notes', ...below }),
    feature({
      name: 'bookmarks',
      fields: { reply: IsReference(() => replies.entity) },
      ...tenant,
      references: { reply: { to: replies.entity } },
    }),
  );
  beforeEach(() => app.empty());

  const created = async (path: string, body: object = { text: 'Hello' }) =>
    (await app.post(path, body, { token: editor })).body._id as string;
  const replied = async () => {
    const thread = await created('/threads');
    return { thread, reply: await created(`/threads/${thread}/replies`) };
  };

  it.each(['long', 'short'])('exist only for the tenant of the top level, by a %s path', async (length) => {
    const { thread, reply } = await replied();
    const path =
      length === 'long' ? `/threads/${thread}/replies/${reply}/reactions` : `/replies/${reply}/notes`;
    const one = `${path}/${await created(path)}`;
    expect((await app.get(path, { token: editor })).body).toMatchObject([{ text: 'Hello', reply }]);
    expect((await app.patch(one, { text: 'Mine' }, { token: editor })).body).toEqual({ updated: true });

    for (const at of [path, `${path}?limit=1`, `${path}/count`, one]) {
      expectNotFound(await app.get(at, { token: stranger }), at.split('?', 1)[0] ?? at, 'Reply');
    }
    expectNotFound(await app.post(path, { text: 'Hello' }, { token: stranger }), path, 'Reply');
    expectNotFound(await app.patch(one, { text: 'Yours' }, { token: stranger }), one, 'Reply');
    expectNotFound(await app.del(one, { token: stranger }), one, 'Reply');
    expect((await app.get(one, { token: editor })).body.text).toBe('Mine');
    expect((await app.del(one, { token: editor })).body).toEqual({ deleted: true });
  });

  it('are not found below a thread that the reply does not belong to', async () => {
    const [{ reply }, { thread }] = [await replied(), await replied()];
    const path = `/threads/${thread}/replies/${reply}/reactions`;
    expectNotFound(await app.get(path, { token: editor }), path, 'Reply');
    expectNotFound(await app.post(path, { text: 'Hello' }, { token: editor }), path, 'Reply');
  });

  it.each(['1', 'abcdefghijkl', '%00'])('refuse the id %s at the top by its name', async (id) => {
    const path = `/threads/${id}/replies/${ACME}/reactions`;
    const detail = 'The id must be 24 hexadecimal digits.';
    expectProblem(await app.get(path, { token: editor }), {
      status: 400,
      code: 'INVALID_ID',
      detail,
      instance: path,
      errors: [{ parameter: 'threadId', detail }],
    });
  });

  it('can be referred to from elsewhere by those who can read them', async () => {
    const { reply } = await replied();
    expect((await app.post('/bookmarks', { reply }, { token: editor })).status).toBe(201);
    expectInvalid(await app.post('/bookmarks', { reply }, { token: stranger }), '/bookmarks', {
      pointer: '/reply',
      detail: '"reply" names no reply that you can use.',
    });
  });
});
