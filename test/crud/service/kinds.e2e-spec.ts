/** @mongodb */
import { Body } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import type { OpenAPIObject } from '@nestjs/swagger';
import {
  conditionOf,
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
} from '../../../src/common/crud/index.js';
import {
  IsFlag,
  IsIdentifier,
  IsListOf,
  IsNested,
  IsOneOf,
  IsText,
  IsTimestamp,
  IsWholeNumber,
} from '../../../src/common/fields/index.js';
import { CurrentScope, currentTenant, hasRole, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

class Guests {
  @IsWholeNumber({ min: 1 }) most!: number;
  @IsWholeNumber({ min: 0, optional: true }) least?: number;
}
class RuleInput {
  @IsText({ max: 40 }) name!: string;
  @IsText({ max: 40, optional: true }) note?: string;
}
class SeasonalInput extends RuleInput {
  @IsTimestamp() from!: Date;
  @IsTimestamp({ optional: true }) until?: Date;
  @IsWholeNumber({ max: 50 }) percent!: number;
}
class WeekdayInput extends RuleInput {
  @IsListOf(IsWholeNumber({ min: 1, max: 7 }), { min: 1, max: 7 }) days!: number[];
  @IsWholeNumber({ max: 90 }) percent!: number;
}
class GroupInput extends RuleInput {
  @IsNested(() => Guests) guests!: Guests;
  @IsWholeNumber({ optional: true }) percent?: number;
}
@Schema({ timestamps: true })
class Rule extends RuleInput {
  kind!: string;
  @IsIdentifier() tenant!: string;
}
const rules = crudOptions({
  entity: Rule,
  input: RuleInput,
  kinds: { seasonal: SeasonalInput, weekday: WeekdayInput, group: GroupInput },
  name: 'rules',
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['name'], search: ['name'] },
  bulk: true,
  import: true,
});

const summer = { kind: 'seasonal', name: 'Summer', from: '2027-06-01T00:00:00.000Z', percent: 20 };
const weekend = { kind: 'weekday', name: 'Weekend', days: [6, 7], percent: 80 };
const group = { kind: 'group', name: 'Groups', guests: { most: 8, least: 4 } };

describe('records of several kinds', () => {
  const app = useResourceApp(CrudModule.forFeature(rules));
  const own = { token: '' };
  beforeAll(async () => void (own.token = await tokenOf(ACME)));
  beforeEach(() => app.empty());

  async function rule(body: object): Promise<string> {
    const created = await app.post('/rules', body, own);
    expect(created.status).toBe(201);
    return `/rules/${created.body._id as string}`;
  }
  const faultsOf = ({ status, body }: { status: number; body: { errors?: object[] } }) => [
    status,
    body.errors,
  ];

  it.each([summer, weekend, group])('have the fields of theirs: $kind', async (body) => {
    const path = await rule(body);
    const { _id, createdAt, updatedAt, tenant, ...record } = (await app.get(path, own)).body as Record<
      string,
      unknown
    >;
    expect([_id, createdAt, updatedAt, tenant]).not.toContain(undefined);
    expect(record).toEqual(body);
  });

  it.each([
    ['of no kind', { name: 'x' }, ['/kind', '/name']],
    ['of an unknown kind', { ...summer, kind: 'yearly' }, ['/kind']],
    ['of a list of kinds', { ...summer, kind: ['seasonal'] }, ['/kind']],
    ['with a field of another kind', { ...summer, days: [1] }, ['/days']],
    ['without one of theirs', { kind: 'weekday', name: 'x', percent: 1 }, ['/days']],
    ['beyond the bound of their kind', { ...summer, percent: 60 }, ['/percent']],
  ])('are rejected %s', async (_case, body, pointers) => {
    const { status, body: problem } = await app.post('/rules', body, own);
    const found = (problem.errors as { pointer: string }[]).map(({ pointer }) => pointer);
    expect([status, pointers.filter((pointer) => found.includes(pointer))]).toEqual([
      400,
      pointers.filter((pointer) => pointer !== '/name'),
    ]);
  });

  it('are changed by the rules of their kind', async () => {
    const seasonal = await rule(summer);
    const change = (path: string, body: object) => app.patch(path, body, own);
    expect((await change(seasonal, { until: '2027-09-01T00:00:00.000Z', note: 'warm' })).status).toBe(200);
    expect((await change(seasonal, { until: null })).status).toBe(200);
    expect((await change(seasonal, { kind: 'seasonal', percent: 30 })).status).toBe(200);
    expect((await app.get(seasonal, own)).body).toMatchObject({ ...summer, percent: 30, note: 'warm' });
    // A percent of 60 fits a weekday, and the days do, too.
    expect(faultsOf(await change(seasonal, { percent: 60 }))).toMatchObject([400, [{ pointer: '/percent' }]]);
    // A group can be without.
    expect(faultsOf(await change(seasonal, { percent: null }))).toMatchObject([
      400,
      [{ pointer: '/percent' }],
    ]);
    expect(faultsOf(await change(seasonal, { days: [1] }))).toMatchObject([400, [{ pointer: '/days' }]]);
    expect(faultsOf(await change(seasonal, { days: null }))).toMatchObject([400, [{ pointer: '/days' }]]);
    expect(faultsOf(await change(seasonal, { from: null }))).toMatchObject([400, [{ pointer: '/from' }]]);
    expect(faultsOf(await change(seasonal, { kind: 'weekday' }))).toMatchObject([
      400,
      [{ pointer: '/kind' }],
    ]);
    expect(faultsOf(await change(seasonal, { kind: 'yearly' }))).toMatchObject([
      400,
      [{ detail: '"kind" must be one of "seasonal".' }],
    ]);
    expect(faultsOf(await change(seasonal, { kind: null }))).toMatchObject([400, [{ pointer: '/kind' }]]);
    expect(faultsOf(await change(seasonal, { from: summer.from, days: [1] }))).toMatchObject([400, [{}]]);
    expect((await change(await rule(weekend), { percent: 60 })).status).toBe(200);
  });

  it('merge nested fields of their kind, and are checked as a whole', async () => {
    const path = await rule(group);
    expect((await app.patch(path, { guests: { least: null } }, own)).status).toBe(200);
    expect((await app.get(path, own)).body.guests).toEqual({ most: 8 });
    expect(faultsOf(await app.patch(path, { guests: { most: null } }, own))).toMatchObject([
      400,
      [{ pointer: '/guests/most' }],
    ]);
    expect(faultsOf(await app.patch(path, { guests: { most: 0 } }, own))).toMatchObject([
      400,
      [{ pointer: '/guests/most' }],
    ]);
  });

  it('are filtered by kind', async () => {
    for (const body of [summer, weekend, group, weekend]) await rule(body);
    const count = async (query: string) => (await app.get(`/rules/count?${query}`, own)).body.count as number;
    expect([
      await count('kind=weekday'),
      await count('kind[in]=seasonal,group'),
      await count('kind[ne]=group'),
    ]).toEqual([2, 2, 3]);
    expect((await app.get('/rules?kind=yearly', own)).status).toBe(400);
    expect((await app.get('/rules?q=summer&kind=seasonal', own)).body).toMatchObject([summer]);
  });

  it('are made and changed in bulk, and imported', async () => {
    const seasonal = (await rule(summer)).split('/').at(-1);
    const operations = [
      { create: weekend },
      { create: { ...weekend, from: summer.from } },
      { update: { _id: seasonal, changes: { days: [1] } } },
      { update: { _id: seasonal, changes: { percent: 1 } } },
    ];
    const { body } = await app.post('/rules/bulk', { operations }, own);
    expect((body.results as { status: number }[]).map(({ status }) => status)).toEqual([201, 400, 400, 200]);
  });

  it('are documented as one of their kinds', async () => {
    const { paths, components } = (await app.get('/docs/openapi.json')).body as OpenAPIObject;
    const schemas = components?.schemas as Record<string, { properties: object; required: string[] }>;
    const { requestBody, responses } = paths['/rules']?.post as never as Record<string, { content: object }>;
    const mapping = (end: string) => ({
      seasonal: `#/components/schemas/RuleSeasonal${end}`,
      weekday: `#/components/schemas/RuleWeekday${end}`,
      group: `#/components/schemas/RuleGroup${end}`,
    });
    expect(requestBody).toMatchObject({
      content: {
        'application/json': {
          schema: {
            oneOf: Object.values(mapping('Create')).map(($ref) => ({ $ref })),
            discriminator: { propertyName: 'kind', mapping: mapping('Create') },
          },
        },
      },
    });
    expect(JSON.stringify(responses)).toContain(JSON.stringify(mapping('')));
    expect(Object.keys(schemas.RuleWeekday?.properties ?? {})).toEqual(
      expect.arrayContaining(['kind', 'days', 'name']),
    );
    expect(schemas.RuleWeekday?.properties).not.toHaveProperty('from');
    expect(schemas.RuleWeekday?.required).toEqual(
      expect.arrayContaining(['kind', 'days', 'percent', 'name', '_id']),
    );
    expect(schemas.RuleSeasonal?.required).not.toContain('until');
    // A weekday may have more.
    expect(schemas.RuleUpdate?.properties).toMatchObject({
      percent: { anyOf: [{ maximum: 50 }, { maximum: 90 }, {}] },
    });
  });
});

class BlockInput {
  @IsText({ max: 40 }) title!: string;
}
class PageInput extends BlockInput {
  @Prop({ unique: true }) @IsText({ max: 40 }) slug!: string;
  @IsFlag({ default: false }) draft?: boolean;
  @IsOneOf(['wide', 'narrow']) form!: string;
  @IsText({ max: 9, optional: true }) code?: string;
}
class QuoteInput extends BlockInput {
  @IsOneOf(['left', 'right']) form!: string;
  @IsWholeNumber({ default: 3 }) size?: number;
  @IsText({ max: 9, optional: true }) hint?: string;
}
@Schema({ timestamps: true })
class Block extends BlockInput {
  kind!: string;
  @IsIdentifier() tenant!: string;
}
const blocks = crudOptions({
  entity: Block,
  input: BlockInput,
  kinds: { page: PageInput, quote: QuoteInput },
  name: 'blocks',
  isolationFields: { all: { tenant: currentTenant } },
  writeOnly: ['hint'] as never,
  fields: { code: { write: hasRole('editor') } } as never,
  hooks: {
    beforeUpdate: ({ record }) => void (record.title === 'bare' && Reflect.deleteProperty(record, 'form')),
  },
});
class BlocksController extends CrudController(blocks) {
  @CrudAction(blocks, { method: 'POST', path: 'pages', body: PageInput, isolatedAs: 'create' })
  page(@CurrentScope() scope: TenantScope, @Body() input: PageInput) {
    return this.service.create(scope, { ...input, kind: 'page' });
  }
  @CrudAction(blocks, { method: 'PUT', path: 'first', body: BlockInput, isolatedAs: 'create' })
  first(@CurrentScope() scope: TenantScope, @Body() input: BlockInput) {
    return this.service.create(scope, input);
  }
}

describe('a field of one kind', () => {
  const app = useResourceApp(CrudModule.forFeature(blocks, { controller: BlocksController }));
  const own = { token: '' };
  beforeAll(async () => void (own.token = await tokenOf(ACME)));
  beforeEach(() => app.empty());
  const page = { kind: 'page', title: 'a', slug: 'a', form: 'wide' };
  const quote = { kind: 'quote', title: 'b', form: 'left' };
  const create = (body: object) => app.post('/blocks', body, own);
  const read = async (id: unknown) => (await app.get(`/blocks/${id as string}`, own)).body as object;

  it('has its default in records of that kind alone', async () => {
    const [one, other] = [await create(page), await create({ ...quote, size: 5 })];
    expect(await read(one.body._id)).toMatchObject({ ...page, draft: false });
    expect(await read(one.body._id)).not.toHaveProperty('size');
    expect(await read(other.body._id)).not.toHaveProperty('draft');
    expect((await app.patch(`/blocks/${other.body._id as string}`, { size: null }, own)).status).toBe(200);
    expect(await read(other.body._id)).toMatchObject({ ...quote, size: 3 });
  });

  it('is unique among the records of that kind alone', async () => {
    expect((await create(page)).status).toBe(201);
    expect((await create(page)).status).toBe(409);
    expect([(await create(quote)).status, (await create(quote)).status]).toEqual([201, 201]);
  });

  it('is not removed by a hook if that kind requires it', async () => {
    const { body } = await create(quote);
    const { status } = await app.patch(`/blocks/${body._id as string}`, { title: 'bare' }, own);
    expect([status, await read(body._id)]).toMatchObject([400, quote]);
  });

  it('is not stored if it is for writing only', async () => {
    const { body } = await create({ ...quote, hint: 'x' });
    expect(await app.database.collection('blocks').findOne({})).not.toHaveProperty('hint');
    expect(await read(body._id)).not.toHaveProperty('hint');
  });

  it('is guarded in routes of your own, too', async () => {
    const { kind: _, ...input } = page;
    expect((await app.post('/blocks/pages', { ...input, code: 'x' }, own)).status).toBe(403);
    expect((await app.post('/blocks/pages', input, own)).body).toMatchObject(page);
    expect((await app.request('PUT', '/blocks/first', { ...own, body: quote })).body).toMatchObject(quote);
  });

  it('can be in a condition', () => {
    expect(conditionOf(blocks, 'slug', 'eq', 'a')).toMatchObject({ values: ['a'] });
    expect(conditionOf(blocks, 'kind', 'in', ['page'])).toMatchObject({ values: ['page'] });
    expect(() => conditionOf(blocks, 'slug', 'eq', undefined)).toThrow('the value is undefined');
  });

  it('has no schema with the name of another', async () => {
    const { components } = (await app.get('/docs/openapi.json')).body as OpenAPIObject;
    const { BlockPage, BlockPageKind } = components?.schemas as Record<string, { properties: object }>;
    expect([BlockPage?.properties, BlockPageKind?.properties]).toMatchObject([{ results: {} }, { slug: {} }]);
  });
});

class BlockView {
  @IsText({ max: 40 }) title!: string;
}
it.each([
  ['a class', BlockView],
  ['a function', (record: object) => record],
])('kinds need not be shown by an output that is %s', (_case, output) => {
  expect(() => CrudModule.forFeature({ ...blocks, output } as never)).not.toThrow();
});
