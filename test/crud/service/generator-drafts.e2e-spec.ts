import { Query } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudController, CrudModule, crudOptions } from '../../../src/common/crud/index.js';
import { IsNested, IsText } from '../../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';

class Account {
  @IsText({ max: 20 }) name!: string;
  @Prop({ type: String, select: false }) @IsText({ max: 20, optional: true }) pin?: string;
}

class MemberInput {
  @IsNested(() => Account) account!: Account;
}

@Schema({ timestamps: true })
class Member extends MemberInput {
  @Prop({ type: String }) greeting?: string;
}

const members = crudOptions({
  entity: Member,
  input: MemberInput,
  name: 'members',
  hooks: {
    beforeCreate({ record }) {
      record.greeting = `Hello ${String(record.account?.name)}`;
      if (record.account) record.account.name = record.account.name.trim();
    },
  },
});

@Schema({ timestamps: true })
class Badge extends MemberInput {
  @IsText({ max: 40 }) label!: string;
  @IsText({ max: 40, default: 'none' }) ribbon!: string;
}

/** Its hook does as the account's name says. */
const badges = CrudModule.forFeature({
  entity: Badge,
  input: MemberInput,
  name: 'badges',
  hooks: {
    beforeCreate({ record }) {
      if (record.account?.name !== 'no label') record.label = '';
      if (record.account?.name === 'no name') record.account = {} as Account;
    },
    beforeUpdate({ record }) {
      Object.assign(record, { _id: new Types.ObjectId(record._id), label: 'updated' });
    },
  },
});

class MembersController extends CrudController(members) {
  override list(@CurrentScope() scope: TenantScope, @Query() query: { limit?: unknown }) {
    return query.limit === undefined
      ? this.service.list(scope)
      : this.service.page(scope, { limit: Number(query.limit) });
  }
}

describe('a resource whose hook and controller use parts of a request', () => {
  const app = useResourceApp(CrudModule.forFeature(members, { controller: MembersController }), badges);
  beforeEach(() => app.empty());

  it('keeps hidden members of a nested object that a beforeCreate hook changes', async () => {
    const { status } = await app.post('/members', { account: { name: ' Ada ', pin: '1234' } });
    expect(status).toBe(201);
    const stored = await app.database
      .collection('members')
      .findOne({}, { projection: { account: 1, greeting: 1, _id: 0 } });
    expect(stored).toEqual({ account: { name: 'Ada', pin: '1234' }, greeting: 'Hello  Ada ' });
    expect((await app.get('/members')).text).not.toContain('1234');
  });

  it('stores no record without a required text, though the text may be empty', async () => {
    expect((await app.post('/badges', { account: { name: '' } })).status).toBe(201);
    const pointers = async (name: string) => {
      const answer = await app.post('/badges', { account: { name } });
      return [answer.status, ...answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)];
    };
    expect(await pointers('no label')).toEqual([400, '/label']);
    expect(await pointers('no name')).toEqual([400, '/account/name']);
    const { body } = await app.get('/badges');
    expect(body).toEqual([expect.objectContaining({ account: { name: '' }, label: '', ribbon: 'none' })]);
  });

  it('lets a hook set the identifier that the record has', async () => {
    const { _id } = (await app.post('/badges', { account: { name: 'Ada' } })).body;
    expect((await app.patch(`/badges/${_id}`, { account: { name: 'Bea' } })).status).toBe(200);
    expect((await app.get('/badges')).body).toMatchObject([
      { _id, account: { name: 'Bea' }, label: 'updated' },
    ]);
  });

  it('lets an override of the list read single parameters, with and without a query', async () => {
    await app.post('/members', { account: { name: 'Ada' } });
    expect((await app.get('/members')).body).toHaveLength(1);
    expect((await app.get('/members?limit=5')).body).toMatchObject({
      count: 1,
      results: [{ account: { name: 'Ada' } }],
    });
    expect((await app.get('/members?limit=0')).status).toBe(400);
  });
});
