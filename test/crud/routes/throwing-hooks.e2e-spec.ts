import { ConflictException, Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import {
  type AfterCreate,
  type BeforeCreate,
  CrudService,
  InjectCrudService,
  IsText,
  IsWholeNumber,
} from '../../../src/index.js';
import { type Made, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';

const crates = resource({
  name: 'crates',
  fields: { text: IsText({ max: 20 }) },
  kept: { weight: IsWholeNumber({ min: 0 }), seal: Prop({ type: String, select: false }) },
});
const Crate = crates.entity;

@Injectable()
class CrateHooks {
  constructor(@InjectCrudService(Crate) private readonly crates: CrudService<Made, Made>) {}

  async beforeCreate({ record, input, scope }: BeforeCreate<Made, Made>) {
    Object.assign(record, { weight: String(input.text).length, seal: 'wax' });
    if (input.text === 'conflict') throw new ConflictException('There is one.');
    if (input.text === 'error') throw new Error('a secret');
    if (input.text === 'lost') await this.crates.get(scope, '0'.repeat(24));
    if (input.text === 'weightless') Reflect.deleteProperty(record, 'weight');
    if (input.text === 'heavy') Object.assign(record, { weight: 'a ton' });
    if (input.text === 'long') record.text = 'x'.repeat(21);
    if (input.text === 'stray') record.colour = 'red';
  }

  afterCreate({ record }: AfterCreate<Made, Made>) {
    if ('seal' in record) throw new Error('A hidden field is there.');
    if (String(record.text).startsWith('late')) throw new ConflictException('Too late.');
  }
}

describe('an exception of a hook', () => {
  const routes = { create: { errors: [404, 409] } };
  const app = useResourceApp({ ...crates, hooks: CrateHooks, bulk: true, routes });
  beforeEach(() => app.empty());
  const count = async () => (await app.get('/crates/count')).body.count as number;
  const ours = 'Something went wrong on our side. Quote the requestId when you report it.';

  it.each([
    ['conflict', 409, 'CONFLICT', 'There is one.'],
    ['lost', 404, 'RECORD_NOT_FOUND', 'Crate not found'],
    ['error', 500, 'INTERNAL_ERROR', ours],
    ['weightless', 400, 'VALIDATION_FAILED', 'The request is not valid: "weight" is required.'],
    ['heavy', 400, 'VALIDATION_FAILED', 'The request is not valid: "weight" must be a number.'],
    ['stray', 500, 'INTERNAL_ERROR', ours],
  ])('before a create (%s) is a %i, and nothing is stored', async (text, status, code, detail) => {
    expect(await app.post('/crates', { text })).toMatchObject({ status, body: { code, detail } });
    expect(await count()).toBe(0);
  });

  it('before one item of a bulk is the result of that item', async () => {
    const operations = ['conflict', 'fine'].map((text) => ({ create: { text } }));
    const { body } = await app.post('/crates/bulk', { operations });
    expect(body.results).toMatchObject([{ status: 409, detail: 'There is one.' }, { status: 201 }]);
  });

  it('after a create is logged, and the record stays', async () => {
    await app.create('/crates', { text: 'late' });
    expect(await count()).toBe(1);
    const msg = 'A hook or listener of crates.afterCreate failed';
    expect(app.logLines).toContainEqual(expect.objectContaining({ level: 'error', msg }));
  });

  it('is nothing if a before hook exceeds a bound of the input', async () => {
    await app.create('/crates', { text: 'long' });
  });
});
