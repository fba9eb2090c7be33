/** @mongodb */
import { Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { IsObject, IsOptional } from 'class-validator';
import { Types } from 'mongoose';
import { CrudModule, CrudService, type StoreChange, type StoreFilter } from '../../../src/index.js';
import { IsNested, IsOneOf, IsReference, IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { scopeOf, type TenantScope, unrestrictedScope } from '../../../src/common/tenancy/index.js';
import { NOWHERE } from '../../support/bulk.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { feature, type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme, GLOBEX } from '../../support/tenants.js';

class Handle {
  @IsText({ max: 20 }) shape!: string;
  @IsWholeNumber({ optional: true }) size?: number;
}
const doors = resource({
  name: 'doors',
  fields: { name: IsText({ max: 20 }), handle: IsNested(() => Handle, { optional: true }) },
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, state: IsOneOf(['open', 'shut'], { default: 'open' }) },
});

@Injectable()
class DoorsService extends CrudService.for(doors) {
  set(scope: TenantScope, id: string, change: StoreChange, where?: StoreFilter) {
    return this.change('update', scope, id, change, { where });
  }
  shut(scope: TenantScope, id: string, where?: StoreFilter) {
    return this.set(scope, id, { set: { state: 'shut' } }, where);
  }
}

const shelves = resource({ name: 'shelves', class: 'Shelf' });
const to = shelves.entity;
/** What the hook of books sets, and whether it was asked. */
let hook: { returnsTo?: string; calls: number };
const runHook = ({ record }: { record: object }) => {
  hook.calls++;
  if (hook.returnsTo !== undefined) Object.assign(record, { returnsTo: hook.returnsTo });
};

const books = resource({
  name: 'books',
  fields: {
    title: IsText({ min: 1, max: 80 }),
    shelf: IsReference(() => to),
    ratings: [Prop({ type: Map, of: Number }), IsOptional(), IsObject()],
  },
  kept: { loans: IsWholeNumber({ optional: true }), returnsTo: IsReference(() => to, { optional: true }) },
  references: { shelf: { to }, returnsTo: { to } },
  hooks: { beforeCreate: runHook, beforeUpdate: runHook },
});

/** How many decisions are made on the same state of a tally. */
const MEETING = 3;
let decisions = 0;
/** The counts that each update of a tally has replaced and stored. */
const told: unknown[] = [];
let meet: () => void;
const met = new Promise<void>((resolve) => (meet = resolve));

const app = useResourceApp(
  CrudModule.forFeature(doors, { service: DoorsService }),
  shelves,
  books,
  feature({
    name: 'tallies',
    kept: { count: Prop({ type: Number, default: 0 }) },
    hooks: {
      async beforeUpdate({ record, previous }) {
        record.count = (previous.count as number) + 1;
        if (++decisions === MEETING) meet();
        await met;
      },
      afterUpdate: ({ record, previous }) => void told.push([previous.count, record.count]),
    },
  }),
);
beforeEach(() => app.empty());

describe('change', () => {
  let service: DoorsService;
  beforeAll(() => void (service = serviceIn(app, doors.entity)));
  const [scope, foreign] = [scopeOf({ tenant: ACME }), scopeOf({ tenant: GLOBEX })];
  const created = () => app.create('/doors', { name: 'Front', handle: { shape: '', size: 1 } }, acme);

  it('changes a record that meets its condition, once', async () => {
    const id = await created();
    const answers = await Promise.all([1, 2, 3].map(() => service.shut(scope, id, { state: 'open' })));
    expect(answers.filter(Boolean)).toEqual([expect.objectContaining({ state: 'shut' })]);
  });

  it('needs no condition, and takes any value of the type of the field', async () => {
    const id = await created();
    for (let time = 1; time <= 2; time++)
      expect(await service.shut(scope, id)).toMatchObject({ state: 'shut' });
    const beyond = { name: 'x'.repeat(21), state: 'ajar' };
    expect(await service.set(scope, id, { set: beyond })).toMatchObject(beyond);
  });

  const onlyTheStore = (name: string) => `A change of Door affects "${name}", which only the store sets.`;
  it.each<[StoreChange, string]>([
    [{ set: { name: {} } }, '"name" must be a string.'],
    [{ set: { colour: 'red' } }, '"colour" is not a field of this record.'],
    [{ unset: ['name'] }, '"name"'],
    [{ set: { name: null } }, '"name"'],
    [{ unset: ['handle.shape'] }, '"handle.shape"'],
    [{ set: { tenant: null } }, '"tenant"'],
    [{ unset: ['_id'] }, onlyTheStore('_id')],
    [{ set: { _id: ACME } }, onlyTheStore('_id')],
    [{ set: { __v: 7 } }, onlyTheStore('__v')],
  ])('refuses what breaks a door, and leaves that: %j', async (change, message) => {
    const id = await created();
    const before = await service.get(scope, id);
    await expect(service.set(scope, id, change)).rejects.toThrow(message);
    expect(await service.get(scope, id)).toEqual(before);
  });

  it.each([String, (id: string) => new Types.ObjectId(id)])('may name the _id', async (idOf) => {
    const id = await created();
    const set = { _id: idOf(id), name: 'Back' };
    expect(await service.set(scope, id, { set })).toMatchObject({ name: 'Back' });
    expect(await service.get(scope, id)).toMatchObject({ name: 'Back' });
  });

  it('takes away what is optional', async () => {
    const id = await created();
    expect((await service.set(scope, id, { unset: ['handle.size'] }))?.handle).toEqual({ shape: '' });
    expect(await service.set(scope, id, { unset: ['handle'] })).not.toHaveProperty('handle');
  });

  it('cannot reach beyond the scope by its condition', async () => {
    const id = await created();
    expect(await service.shut(foreign, id, { tenant: ACME })).toBeUndefined();
    expect(await service.shut(foreign, id, { $or: [{ tenant: ACME }, {}] })).toBeUndefined();
    expect(await service.get(scope, id)).toMatchObject({ state: 'open' });
  });
});

describe('create and update', () => {
  const all = unrestrictedScope();
  let service: CrudService<Made, Made>;
  let shelf: string;
  beforeAll(() => void (service = serviceIn(app, books.entity)));
  beforeEach(async () => {
    shelf = await app.create('/shelves', { text: 'A' });
    hook = { calls: 0 };
  });

  const fault = (pointer: string, detail: string) =>
    expect.objectContaining({ errors: [{ pointer, detail }] }) as Error;
  const noShelf = (field: string) => fault(`/${field}`, `"${field}" names no shelf that you can use.`);

  it('accept fields that clients may not send, but not misspelt ones', async () => {
    const { _id } = await service.create(all, { title: 'Emma', shelf, loans: 2 });
    expect(await service.update(all, _id, { loans: 3 })).toMatchObject({ title: 'Emma', loans: 3 });
    const misspelt = service.create(all, { title: 'Emma', shelf, laons: 2 });
    const detail = '"laons" is not an input field. Allowed: title, shelf, ratings.';
    await expect(misspelt).rejects.toEqual(fault('/laons', detail));
  });

  it('check a reference before the hooks see it, and one that a hook sets', async () => {
    const create = (to: string) => service.create(all, { title: 'Emma', shelf: to });
    await expect(create(NOWHERE)).rejects.toEqual(noShelf('shelf'));
    expect(hook.calls).toBe(0);
    const { _id } = await create(shelf);
    await expect(service.update(all, _id, { shelf: NOWHERE })).rejects.toEqual(noShelf('shelf'));
    expect(hook.calls).toBe(1);
    hook.returnsTo = NOWHERE;
    await expect(create(shelf)).rejects.toEqual(noShelf('returnsTo'));
    const update = () => service.update(all, _id, { title: 'Persuasion' });
    await expect(update()).rejects.toEqual(noShelf('returnsTo'));
    hook.returnsTo = shelf;
    expect(String((await update()).returnsTo)).toBe(shelf);
  });

  it('convert nothing in a map', async () => {
    const ratings = { ada: '5' };
    const create = service.create(all, { title: 'Emma', shelf, ratings });
    await expect(create).rejects.toEqual(fault('/ratings/ada', '"ratings.ada" must be a number.'));
    const { _id } = await service.create(all, { title: 'Emma', shelf, ratings: { ada: 5 } });
    const update = service.update(all, _id, { ratings });
    await expect(update).rejects.toEqual(fault('/ratings', 'Every entry of "ratings" must be a number.'));
  });
});

it('a hook decides again if its record has changed meanwhile, and is told what each update replaced', async () => {
  const path = `/tallies/${await app.create('/tallies', { text: 'A' })}`;
  const updates = Array.from({ length: MEETING }, (_, i) => app.patch(path, { text: `B${i}` }));
  expect((await Promise.all(updates)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await app.get(path)).body.count).toBe(MEETING);
  expect(decisions).toBeGreaterThan(MEETING);
  // A chain: each replaced what another one had stored.
  expect(told.sort()).toEqual(Array.from({ length: MEETING }, (_, i) => [i, i + 1]));
});
