import { Query } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { IsString } from 'class-validator';
import mongoose, { Schema as MongooseSchema, Types } from 'mongoose';
import { CrudController, CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../../src/common/tenancy/index.js';
import { each } from '../../support/records.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Outline, resource } from '../../support/resource.js';
import { KEPT } from '../../support/whole-records.js';

class Sign {
  @IsText({ max: 20 }) word!: string;
  @IsText({ max: 20, optional: true }) note?: string;
}

class Plate extends Sign {
  @IsText({ max: 20 }) font!: string;
  @IsNested(() => Plate, { optional: true }) below?: Plate;
}

class DoorInput {
  @IsText({ max: 20 }) name!: string;
  @IsText({ max: 400 }) secret!: string;
}

/** The schema below decides what of it is stored, and sets what a create leaves out. */
@Schema({ timestamps: true })
class Door extends DoorInput {
  @IsText({ max: 20 }) slug!: string;
  @IsNested(() => Plate, { optional: true }) plate?: Plate;
  @IsListOf(() => Plate, { max: 3, optional: true }) plates?: Plate[];
  @IsNested(() => Sign, { optional: true }) inside?: Sign;

  @IsText({ max: 40 })
  get shout(): string {
    return `${this.name}!`;
  }
}

const plate = new MongooseSchema({ word: String, font: { type: String, default: 'serif' } }, { _id: false });
plate.add({ below: plate });

function slugOf(this: { name: string }): string {
  return this.name.toLowerCase();
}

const doors = CrudModule.forFeature({
  entity: Door,
  input: DoorInput,
  name: 'doors',
  schema: new MongooseSchema<Door>(
    {
      name: String,
      slug: { type: String, default: slugOf },
      plate,
      plates: { type: [plate], default: undefined },
      inside: { word: String, note: String },
    },
    { timestamps: true },
  ),
  writeOnly: ['secret'],
  hooks: { beforeCreate: ({ input, record }) => void Object.assign(record, JSON.parse(input.secret)) },
});

/** Clients send a name, which a hook trims. */
const trimmed = (outline: Outline) =>
  resource({
    fields: { name: IsText({ max: 20 }) },
    hooks: { beforeCreate: ({ record }) => void (record.name = String(record.name).trim()) },
    ...outline,
  });
const lamps = trimmed({
  name: 'lamps',
  kept: {
    room: [Prop({ type: String, required: false }), IsText({ max: 20 })],
    maker: [Prop({ type: String }), IsString()],
    slug: IsText({ max: 20 }),
  },
});
lamps.schema = schemaOf(lamps.entity);
lamps.schema.path('slug').default(slugOf);
class LampsController extends CrudController(lamps) {
  override list(@CurrentScope() scope: TenantScope, @Query() query: { limit?: unknown }) {
    return query.limit === undefined
      ? this.service.list(scope)
      : this.service.page(scope, { limit: Number(query.limit) });
  }
}

/** A global plugin, which Mongoose applies to the schemas of models as it makes them. */
mongoose.plugin((schema) => {
  if (!schema.path('engraving')) return;
  schema.pre('validate', function () {
    this.set({ engraving: 'Made with care' });
  });
});
const engraved = { engraving: IsText({ max: 20 }) };
const bells = trimmed({ name: 'bells', kept: engraved, query: { search: ['name'] } });

class Account {
  @IsText({ max: 20 }) name!: string;
}

/** Their hook does as the account's name says. */
const badges = feature({
  name: 'badges',
  fields: { account: IsNested(() => Account) },
  kept: { label: IsText({ max: 40 }), ribbon: IsText({ max: 40, default: 'none' }) },
  hooks: {
    beforeCreate({ record }) {
      const { name } = record.account as Account;
      if (name !== 'no label') record.label = '';
      if (name === 'no name') record.account = {};
    },
    beforeUpdate({ record }) {
      Object.assign(record, { _id: new Types.ObjectId(String(record._id)), label: 'updated' });
    },
  },
});

const app = useResourceApp(
  doors,
  CrudModule.forFeature(lamps, { controller: LampsController }),
  bells,
  badges,
);
beforeEach(() => app.empty());

/** The status of a refused create, and the places of its faults. */
const rejectionOf = async (path: string, body: object) => {
  const answer = await app.post(path, body);
  return [answer.status, ...each(answer.body.errors, 'pointer')];
};

describe('a create with a hook, whose schema differs from the class', () => {
  const doorWith = (set: object) => ({ name: 'Oak', secret: JSON.stringify(set) });
  const word = { word: 'Pull' };
  const serif = { ...word, font: 'serif' };

  it.each([
    [{}, {}],
    [
      { plate: { ...word, below: word }, plates: [word], inside: word },
      { plate: { ...serif, below: serif }, plates: [serif], inside: word },
    ],
  ])('needs no text that the schema sets or does not have: %j', async (set, stored) => {
    await app.create('/doors', doorWith(set));
    expect((await app.get('/doors')).body).toEqual([{ ...KEPT, name: 'Oak', slug: 'oak', ...stored }]);
  });

  it.each([
    [{ name: null }, '/name'],
    [{ plate: {} }, '/plate/word'],
    [{ plate: { word: '', below: { word: '', below: {} } } }, '/plate/below/below/word'],
    [{ plates: [{ word: '' }, {}] }, '/plates/1/word'],
    [{ inside: { note: '' } }, '/inside/word'],
  ])('still needs the others: %j', async (set, pointer) => {
    expect(await rejectionOf('/doors', doorWith(set))).toEqual([400, pointer]);
    expect(await app.database.collection('doors').countDocuments()).toBe(0);
  });

  it.each([
    ['only a class-validator or @Prop({ required: false }) describes', 'lamps', '', { slug: 'desk' }],
    ['a global plugin sets', 'bells', '?q=desk', { engraving: 'Made with care' }],
  ])('needs no text that %s', async (_what, name, query, set) => {
    await app.create(`/${name}`, { name: ' Desk ' });
    expect((await app.get(`/${name}${query}`)).body).toMatchObject([{ name: 'Desk', ...set }]);
  });
});

describe('a resource whose hook and controller use parts of a request', () => {
  it('stores no record without a required text, though the text may be empty', async () => {
    await app.create('/badges', { account: { name: '' } });
    expect(await rejectionOf('/badges', { account: { name: 'no label' } })).toEqual([400, '/label']);
    expect(await rejectionOf('/badges', { account: { name: 'no name' } })).toEqual([400, '/account/name']);
    const badge = { ...KEPT, account: { name: '' }, label: '', ribbon: 'none' };
    expect((await app.get('/badges')).body).toEqual([badge]);
  });

  it('lets a hook set the identifier that the record has', async () => {
    const _id = await app.create('/badges', { account: { name: 'Ada' } });
    expect((await app.patch(`/badges/${_id}`, { account: { name: 'Bea' } })).status).toBe(200);
    const changed = { _id, account: { name: 'Bea' }, label: 'updated' };
    expect((await app.get('/badges')).body).toMatchObject([changed]);
  });

  it('lets an override of the list read single parameters, with and without a query', async () => {
    await app.create('/lamps', { name: 'Desk' });
    expect((await app.get('/lamps')).body).toHaveLength(1);
    const page = { count: 1, results: [{ name: 'Desk' }] };
    expect((await app.get('/lamps?limit=5')).body).toMatchObject(page);
    expect((await app.get('/lamps?limit=0')).status).toBe(400);
  });
});
