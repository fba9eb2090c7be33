/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { NoteInput } from '../../support/bulk.js';
import { expectInvalid } from '../../support/problems.js';
import { createResourceApp } from '../../support/resource-app.js';
import { acme, globex } from '../../support/tenants.js';
import type { TestApp } from '../../support/test-app.js';

@Schema({ timestamps: true })
class Leaf extends NoteInput {}

@Schema({ timestamps: true })
class Twig extends NoteInput {}

@Schema({ timestamps: true })
class Root extends NoteInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

const foreign = {
  parameter: 'after',
  detail:
    '"after" is not a cursor of this list. Use "next" or "prev" of a page with the same filter and order.',
};

describe('a cursor', () => {
  let app: TestApp;
  beforeAll(async () => {
    const isolationFields = { all: { tenant: currentTenant } };
    app = await createResourceApp(
      CrudModule.forFeature({ entity: Leaf, input: NoteInput, name: 'leaves' }),
      CrudModule.forFeature({ entity: Twig, input: NoteInput, name: 'twigs' }),
      CrudModule.forFeature({ entity: Root, input: NoteInput, name: 'roots', isolationFields }),
    );
  });
  afterAll(() => app.close());

  const nextOf = async (path: string, token?: string) => {
    for (const text of ['A', 'B']) await app.post(path, { text }, { token });
    return (await app.get(`${path}?limit=1`, { token })).body.next as string;
  };

  it('belongs to its resource, even if another one has the same filter and order', async () => {
    const next = await nextOf('/leaves');
    expect((await app.get(`/leaves?after=${next}`)).status).toBe(200);
    expectInvalid(await app.get(`/twigs?after=${next}`), '/twigs', foreign);
  });

  it('belongs to the tenant of its list', async () => {
    const next = await nextOf('/roots', acme);
    expect((await app.get(`/roots?after=${next}`, { token: acme })).status).toBe(200);
    expectInvalid(await app.get(`/roots?after=${next}`, { token: globex }), '/roots', foreign);
  });
});
