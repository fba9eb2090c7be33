/** @mongodb */
import { Injectable } from '@nestjs/common';
import { Types } from 'mongoose';
import {
  type ChangeOptions,
  CrudService,
  type StoreChange,
  type StoreFilter,
} from '../../../src/common/crud/index.js';
import { createCrudTestingModule, type CrudTestingModule } from '../../../src/common/crud/testing/index.js';
import { IsIdentifier, IsNested, IsOneOf, IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { currentTenant, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { ACME, GLOBEX } from '../../support/tenants.js';
import { resource } from '../../support/resource.js';

class Handle {
  @IsText({ max: 20 }) shape!: string;
  @IsWholeNumber({ optional: true }) size?: number;
}

const doors = resource({
  name: 'doors',
  fields: { name: IsText({ max: 20 }), handle: IsNested(() => Handle, { optional: true }) },
  kept: { tenant: IsIdentifier(), state: IsOneOf(['open', 'shut'], { default: 'open' }) },
  isolationFields: { all: { tenant: currentTenant } },
});

@Injectable()
class DoorsService extends CrudService.for(doors) {
  // Public, for the tests.
  override change(
    ...args: [action: 'update', scope: TenantScope, id: string, change: StoreChange, options?: ChangeOptions]
  ) {
    return super.change(...args);
  }

  shut(scope: TenantScope, id: string, where?: StoreFilter) {
    return this.change('update', scope, id, { set: { state: 'shut' } }, { where });
  }
}

describe('change, with a condition', () => {
  let testing: CrudTestingModule<DoorsService>;
  const acme = scopeOf({ tenant: ACME });
  beforeAll(async () => {
    testing = await createCrudTestingModule(doors, { service: DoorsService });
  });
  afterAll(() => testing.close());

  const created = async () => String((await testing.service.create(acme, { name: 'Front' }))._id);

  it('changes a record that meets the condition, once', async () => {
    const id = await created();
    const answers = await Promise.all([1, 2, 3].map(() => testing.service.shut(acme, id, { state: 'open' })));
    expect(answers.filter(Boolean)).toEqual([expect.objectContaining({ state: 'shut' })]);
  });

  it('needs no condition', async () => {
    const id = await created();
    expect(await testing.service.shut(acme, id)).toMatchObject({ state: 'shut' });
    expect(await testing.service.shut(acme, id)).toMatchObject({ state: 'shut' });
  });

  it('accepts any value of the type of the field, even one that clients may not send', async () => {
    const id = await created();
    const change = (set: object) => testing.service.change('update', acme, id, { set: { ...set } });
    await expect(change({ name: {} })).rejects.toThrow('"name" must be a string.');
    await expect(change({ colour: 'red' })).rejects.toThrow('"colour" is not a field of this record.');
    const beyond = { name: 'x'.repeat(21), state: 'ajar' };
    expect(await change(beyond)).toMatchObject(beyond);
  });

  it.each<[string, StoreChange]>([
    ['name', { unset: ['name'] }],
    ['name', { set: { name: null } }],
    ['handle.shape', { unset: ['handle.shape'] }],
    ['tenant', { set: { tenant: null } }],
  ])('cannot take %s away, which a door needs: %j', async (path, change) => {
    const id = await created();
    await testing.service.change('update', acme, id, { set: { handle: { shape: '', size: 1 } } });
    const taken = testing.service.change('update', acme, id, change);
    await expect(taken).rejects.toThrow(`"${path}"`);
    expect(await testing.service.get(acme, id)).toMatchObject({ name: 'Front', handle: { shape: '' } });
  });

  it.each<[string, StoreChange]>([
    ['_id', { unset: ['_id'] }],
    ['_id', { set: { _id: ACME } }],
    ['__v', { set: { __v: 7 } }],
  ])('cannot change %s, and says so: %j', async (name, change) => {
    const changed = testing.service.change('update', acme, await created(), change);
    await expect(changed).rejects.toThrow(`A change of Door affects "${name}", which only the store sets.`);
  });

  it.each([String, (id: string) => new Types.ObjectId(id)])(
    'may name the _id that the record has',
    async (idOf) => {
      const id = await created();
      const set = { _id: idOf(id), name: 'Back' };
      expect(await testing.service.change('update', acme, id, { set })).toMatchObject({ name: 'Back' });
      expect(await testing.service.get(acme, id)).toMatchObject({ name: 'Back' });
    },
  );

  it('takes away what is optional', async () => {
    const id = await created();
    await testing.service.change('update', acme, id, { set: { handle: { shape: '', size: 1 } } });
    const unset = ['handle.size'];
    expect(await testing.service.change('update', acme, id, { unset })).toMatchObject({
      handle: { shape: '' },
    });
    expect(await testing.service.change('update', acme, id, { unset: ['handle'] })).not.toHaveProperty(
      'handle',
    );
  });

  it('cannot reach beyond the scope by it', async () => {
    const id = await created();
    const globex = scopeOf({ tenant: GLOBEX });
    expect(await testing.service.shut(globex, id, { tenant: ACME })).toBeUndefined();
    expect(await testing.service.shut(globex, id, { $or: [{ tenant: ACME }, {}] })).toBeUndefined();
    expect(await testing.service.get(acme, id)).toMatchObject({ state: 'open' });
  });
});
