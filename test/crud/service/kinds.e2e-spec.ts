/** @mongodb */
import type { OpenAPIObject } from '@nestjs/swagger';
import { IsListOf, IsNested, IsText, IsTimestamp, IsWholeNumber } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { acme as token } from '../../support/tenants.js';

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
  @IsWholeNumber({ min: 100, optional: true }) percent?: number;
}

const summer = { kind: 'seasonal', name: 'Summer', from: '2027-06-01T00:00:00.000Z', percent: 20 };
const weekend = { kind: 'weekday', name: 'Weekend', days: [6, 7], percent: 80 };
const group = { kind: 'group', name: 'Groups', guests: { most: 8, least: 4 } };

const rules = resource({
  name: 'rules',
  fields: RuleInput,
  kinds: { seasonal: SeasonalInput, weekday: WeekdayInput, group: GroupInput } as never,
  ...OF_TENANT,
  query: { search: ['name'] },
  bulk: true,
  import: true,
});

describe('records of several kinds', () => {
  const app = useResourceApp(rules);
  beforeEach(() => app.empty());

  const rule = async (body: object) => `/rules/${await app.create('/rules', body, token)}`;
  const read = async (path: string) => (await app.get(path, { token })).body as Record<string, unknown>;
  const change = (path: string, body: object) => app.patch(path, body, { token });

  it.each([summer, weekend, group])('have the fields of theirs: $kind', async (body) => {
    const { _id, createdAt, updatedAt, tenant, ...record } = await read(await rule(body));
    expect([_id, createdAt, updatedAt, tenant]).not.toContain(undefined);
    expect(record).toEqual(body);
    expect(await read('/rules?fields=percent')).toMatchObject([{ _id }]);
  });

  it.each([
    ['of no kind', { name: 'x' }, ['/kind']],
    ['of an unknown kind', { ...summer, kind: 'yearly' }, ['/kind']],
    ['of a list of kinds', { ...summer, kind: ['seasonal'] }, ['/kind']],
    ['with a field of another kind', { ...summer, days: [1] }, ['/days']],
    ['without one of theirs', { kind: 'weekday', name: 'x', percent: 1 }, ['/days']],
    ['beyond the bound of their kind', { ...summer, percent: 60 }, ['/percent']],
  ])('are rejected %s', async (_case, sent, pointers) => {
    const { status, body } = await app.post('/rules', sent, { token });
    expect([status, body.errors]).toMatchObject([400, pointers.map((pointer) => ({ pointer }))]);
  });

  it('are changed by the rules of their kind', async () => {
    const seasonal = await rule(summer);
    expect((await change(seasonal, { until: '2027-09-01T00:00:00.000Z', note: 'warm' })).status).toBe(200);
    expect((await change(seasonal, { until: null })).status).toBe(200);
    expect((await change(seasonal, { kind: 'seasonal', percent: 30 })).status).toBe(200);
    expect(await read(seasonal)).toMatchObject({ ...summer, percent: 30, note: 'warm' });
    expect((await change(await rule(weekend), { percent: 60 })).status).toBe(200);
  });

  it.each<[object, object]>([
    // A percent of 60 fits a weekday, and the days do, too.
    [{ percent: 60 }, { pointer: '/percent' }],
    // A group can be without.
    [{ percent: null }, { pointer: '/percent' }],
    [{ days: [1] }, { pointer: '/days' }],
    [{ days: null }, { pointer: '/days' }],
    [{ from: null }, { pointer: '/from' }],
    [{ kind: 'weekday' }, { pointer: '/kind' }],
    [{ kind: 'yearly' }, { detail: '"kind" must be one of "seasonal".' }],
    [{ kind: null }, { pointer: '/kind' }],
    [{ from: summer.from, days: [1] }, { pointer: '/days' }],
  ])('do not change to what breaks the rules of their kind: %j', async (changes, fault) => {
    const { status, body } = await change(await rule(summer), changes);
    expect([status, body.errors]).toMatchObject([400, [fault]]);
  });

  it('merge nested fields of their kind, and are checked as a whole', async () => {
    const path = await rule(group);
    expect((await change(path, { guests: { least: null } })).status).toBe(200);
    expect((await read(path)).guests).toEqual({ most: 8 });
    for (const most of [null, 0]) {
      const { status, body } = await change(path, { guests: { most } });
      expect([status, body.errors]).toMatchObject([400, [{ pointer: '/guests/most' }]]);
    }
  });

  it('are filtered by kind', async () => {
    for (const body of [summer, weekend, group, weekend]) await rule(body);
    expect(await read('/rules/count?kind=weekday')).toEqual({ count: 2 });
    expect(await read('/rules/count?kind[in]=seasonal,group')).toEqual({ count: 2 });
    expect(await read('/rules/count?kind[ne]=group')).toEqual({ count: 3 });
    expect((await app.get('/rules?kind=yearly', { token })).status).toBe(400);
    expect(await read('/rules?q=summer&kind=seasonal')).toMatchObject([summer]);
  });

  it('are made and changed in bulk', async () => {
    const _id = await app.create('/rules', summer, token);
    const operations = [
      { create: weekend },
      { create: { ...weekend, from: summer.from } },
      { update: { _id, changes: { days: [1] } } },
      { update: { _id, changes: { percent: 1 } } },
    ];
    const { body } = await app.post('/rules/bulk', { operations }, { token });
    expect(body.results).toMatchObject([201, 400, 400, 200].map((status) => ({ status })));
  });

  it('are documented as one of their kinds', async () => {
    const { paths, components } = (await app.get('/docs/openapi.json')).body as OpenAPIObject;
    const schemas = components?.schemas as Record<string, { properties: object; required: string[] }>;
    const { requestBody, responses } = paths['/rules']?.post ?? {};
    const mapping = (end: string) => ({
      seasonal: `#/components/schemas/RuleSeasonal${end}`,
      weekday: `#/components/schemas/RuleWeekday${end}`,
      group: `#/components/schemas/RuleGroup${end}`,
    });
    const oneOf = Object.values(mapping('Create')).map(($ref) => ({ $ref }));
    const schema = { oneOf, discriminator: { propertyName: 'kind', mapping: mapping('Create') } };
    expect(requestBody).toMatchObject({ content: { 'application/json': { schema } } });
    expect(JSON.stringify(responses)).toContain(JSON.stringify(mapping('')));
    const { RuleSeasonal, RuleUpdate, RuleWeekday } = schemas;
    expect(RuleWeekday?.properties).toMatchObject({ kind: {}, days: {}, name: {} });
    expect(RuleWeekday?.properties).not.toHaveProperty('from');
    const required = ['kind', 'days', 'name', 'percent', '_id'];
    expect(RuleWeekday?.required).toEqual(expect.arrayContaining(required));
    expect(RuleSeasonal?.required).not.toContain('until');
    // A weekday may have more.
    const percent = { anyOf: [{ maximum: 50 }, { maximum: 90 }, {}] };
    expect(RuleUpdate?.properties).toMatchObject({ percent });
  });
});
