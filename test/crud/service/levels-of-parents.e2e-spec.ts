/** @mongodb */
import { Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../../src/common/fields/index.js';
import { claim, currentTenant } from '../../../src/common/tenancy/index.js';
import { expectInvalid, expectNotFound, expectProblem } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

class TextInput {
  @IsText({ min: 1, max: 100 }) text!: string;
}

@Schema({ timestamps: true })
class Thread extends TextInput {
  @IsIdentifier() tenant!: string;
}

@Schema({ timestamps: true })
class Reply extends TextInput {
  @IsReference(() => Thread) thread!: string;
  @IsText({ max: 20 }) role!: string;
}

@Schema({ timestamps: true })
class Reaction extends TextInput {
  @IsReference(() => Reply) reply!: string;
  @IsText({ max: 20 }) role!: string;
}

/** As a reaction, by a shorter path. */
@Schema({ timestamps: true })
class Note extends Reaction {}

class BookmarkInput {
  @IsReference(() => Reply) reply!: string;
}

@Schema({ timestamps: true })
class Bookmark extends BookmarkInput {
  @IsIdentifier() tenant!: string;
}

const tenant = { all: { tenant: currentTenant } };
/** Says nothing of the tenant: only the thread, at the top, does. */
const role = { all: { role: claim('role') } };
const belowReply = { entity: Reply, param: 'replyId', field: 'reply' } as const;

describe('resources with two levels of parents', () => {
  let acme: string;
  let globex: string;
  const app = useResourceApp(
    CrudModule.forFeature({ entity: Thread, input: TextInput, name: 'threads', isolationFields: tenant }),
    CrudModule.forFeature({
      entity: Reply,
      input: TextInput,
      name: 'replies',
      path: 'threads/:threadId/replies',
      parent: { entity: Thread, param: 'threadId', field: 'thread' },
      isolationFields: role,
    }),
    CrudModule.forFeature({
      entity: Reaction,
      input: TextInput,
      name: 'reactions',
      path: 'threads/:threadId/replies/:replyId/reactions',
      parent: belowReply,
      isolationFields: role,
    }),
    CrudModule.forFeature({
      entity: Note,
      input: TextInput,
      name: 'notes',
      path: 'replies/:replyId/notes',
      parent: belowReply,
      isolationFields: role,
    }),
    CrudModule.forFeature({
      entity: Bookmark,
      input: BookmarkInput,
      name: 'bookmarks',
      isolationFields: tenant,
      references: { reply: { to: Reply } },
    }),
  );
  beforeAll(async () => {
    [acme, globex] = (await Promise.all([ACME, GLOBEX].map((id) => tokenOf(id, { role: 'editor' })))) as [
      string,
      string,
    ];
  });
  beforeEach(() => app.empty());

  const created = async (path: string, body: object = { text: 'Hello' }) =>
    (await app.post(path, body, { token: acme })).body._id as string;
  const replied = async () => {
    const thread = await created('/threads');
    return { thread, reply: await created(`/threads/${thread}/replies`) };
  };

  it.each(['long', 'short'])('exist only for the tenant of the top level, by a %s path', async (length) => {
    const { thread, reply } = await replied();
    const path =
      length === 'long' ? `/threads/${thread}/replies/${reply}/reactions` : `/replies/${reply}/notes`;
    const one = `${path}/${await created(path)}`;
    expect((await app.get(path, { token: acme })).body).toMatchObject([{ text: 'Hello', reply }]);
    expect((await app.patch(one, { text: 'Mine' }, { token: acme })).body).toEqual({ updated: true });

    for (const at of [path, `${path}?limit=1`, `${path}/count`, one]) {
      expectNotFound(await app.get(at, { token: globex }), at.split('?', 1)[0] ?? at, 'Reply');
    }
    expectNotFound(await app.post(path, { text: 'Hello' }, { token: globex }), path, 'Reply');
    expectNotFound(await app.patch(one, { text: 'Yours' }, { token: globex }), one, 'Reply');
    expectNotFound(await app.del(one, { token: globex }), one, 'Reply');
    expect((await app.get(one, { token: acme })).body.text).toBe('Mine');
    expect((await app.del(one, { token: acme })).body).toEqual({ deleted: true });
  });

  it('are not found below a thread that the reply does not belong to', async () => {
    const [{ reply }, { thread }] = [await replied(), await replied()];
    const path = `/threads/${thread}/replies/${reply}/reactions`;
    expectNotFound(await app.get(path, { token: acme }), path, 'Reply');
    expectNotFound(await app.post(path, { text: 'Hello' }, { token: acme }), path, 'Reply');
  });

  it.each(['1', 'abcdefghijkl', '%00'])('refuse the id %s at the top by its name', async (id) => {
    const path = `/threads/${id}/replies/${ACME}/reactions`;
    const detail = 'The id must be 24 hexadecimal digits.';
    expectProblem(await app.get(path, { token: acme }), {
      status: 400,
      code: 'INVALID_ID',
      detail,
      instance: path,
      errors: [{ parameter: 'threadId', detail }],
    });
  });

  it('can be referred to from elsewhere by those who can read them', async () => {
    const { reply } = await replied();
    expect((await app.post('/bookmarks', { reply }, { token: acme })).status).toBe(201);
    expectInvalid(await app.post('/bookmarks', { reply }, { token: globex }), '/bookmarks', {
      pointer: '/reply',
      detail: '"reply" names no reply that you can use.',
    });
  });
});
