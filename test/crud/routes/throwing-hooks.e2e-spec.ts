import { ConflictException, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Prop } from '@nestjs/mongoose';
import {
  type AfterCreate,
  type BeforeCreate,
  CrudModule,
  CrudService,
  getCrudServiceToken,
  InjectCrudService,
} from '../../../src/common/crud/index.js';
import { IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { resource, type Made } from '../../support/resource.js';

const crates = resource({
  name: 'crates',
  fields: { text: IsText({ max: 20 }) },
  kept: { weight: IsWholeNumber({ min: 0 }), seal: Prop({ type: String, select: false }) },
});
const Crate = crates.entity;

@Injectable()
class CrateHooks {
  constructor(private readonly moduleRef: ModuleRef) {}

  async beforeCreate({ record, input, scope }: BeforeCreate<Made, Made>) {
    record.weight = String(input.text).length;
    record.seal = 'wax';
    if (input.text === 'conflict') throw new ConflictException('There is one.');
    if (input.text === 'error') throw new Error('a secret');
    if (input.text === 'lost') await this.crates.get(scope, '0'.repeat(24));
    if (input.text === 'weightless') Reflect.deleteProperty(record, 'weight');
    if (input.text === 'heavy') Object.assign(record, { weight: 'a ton' });
    if (input.text === 'long') record.text = 'x'.repeat(21);
    if (input.text === 'stray') record.colour = 'red';
  }

  private get crates() {
    return this.moduleRef.get<CrudService<Made, Made>>(getCrudServiceToken(Crate));
  }

  afterCreate({ record }: AfterCreate<Made, Made>) {
    if ('seal' in record) throw new Error('A hidden field is there.');
    if (String(record.text).startsWith('late')) throw new ConflictException('Too late.');
  }
}

const OUR_SIDE = 'Something went wrong on our side. Quote the requestId when you report it.';

describe('an exception of a hook', () => {
  const app = useResourceApp(
    CrudModule.forFeature({
      ...crates,
      hooks: CrateHooks,
      bulk: true,
      routes: { create: { errors: [404, 409] } },
    }),
  );
  beforeEach(() => app.empty());

  const count = async () => (await app.get('/crates/count')).body.count as number;

  it.each([
    ['conflict', 409, 'CONFLICT', 'There is one.'],
    ['lost', 404, 'RECORD_NOT_FOUND', 'Crate not found'],
    ['error', 500, 'INTERNAL_ERROR', OUR_SIDE],
    ['weightless', 400, 'VALIDATION_FAILED', 'The request is not valid: "weight" is required.'],
    ['heavy', 400, 'VALIDATION_FAILED', 'The request is not valid: "weight" must be a number.'],
    ['stray', 500, 'INTERNAL_ERROR', OUR_SIDE],
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
    expect((await app.post('/crates', { text: 'late' })).status).toBe(201);
    expect(await count()).toBe(1);
    const msg = 'A hook or listener of crates.afterCreate failed';
    expect(app.logLines).toContainEqual(expect.objectContaining({ level: 'error', msg }));
  });

  it('is nothing if a before hook exceeds a bound of the input', async () => {
    expect((await app.post('/crates', { text: 'long' })).status).toBe(201);
  });
});

describe('hooks that inject the service of their own resource', () => {
  const sentence = (hooks: string) =>
    `CrudModule.forFeature(Crate): ${hooks} injects the service of its own resource, which is made after the hooks. Inject ModuleRef, and take the service in the hook: this.moduleRef.get(getCrudServiceToken(Crate)).`;

  it('by its token stop the start with one sentence', () => {
    @Injectable()
    class ByToken {
      constructor(@InjectCrudService(Crate) readonly crates: CrudService<Made, Made>) {}
      beforeCreate() {}
    }
    const options = { ...crates, hooks: ByToken };
    expect(() => CrudModule.forFeature(options)).toThrow(new Error(sentence('ByToken')));
  });

  it('by its class stop the start with the same sentence', () => {
    class ByClass {
      beforeCreate() {}
    }
    const options = { ...crates, hooks: ByClass };
    class CratesService extends CrudService.for(options) {}
    Reflect.defineMetadata('design:paramtypes', [CratesService], ByClass);
    expect(() => CrudModule.forFeature(options, { service: CratesService })).toThrow(
      new Error(sentence('ByClass')),
    );
  });
});
