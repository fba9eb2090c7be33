import { Type as TransformType } from 'class-transformer';
import * as validators from 'class-validator';
import { Types } from 'mongoose';
import { InputReader } from '../../src/common/fields/index.js';
import { faultsOf } from '../support/faults.js';
import { classOfFields, FIELD_RULES, OWN_RULES } from '../support/field-rules.js';
import { ProductInput } from '../support/product-input.js';

/** Values that fit some fields and surprise others; the last ones only code has. */
const STRANGERS: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 7, Infinity, '', ' ', 'a', '5', 'red', '\ud800', '12.50'],
  ...['longer than most fields take', '665f1c2ab7e3a90d4c8b4567', '2026-01-31T09:00:00.000Z'],
  ...[[], ['a'], ['a', 'a'], [1, null], [[]], [{}], [{ width: 1 }, { width: '1' }]],
  ...[{}, { width: 3 }, { width: 0, depth: null }, { width: 3, stray: 1 }],
  ...[{ _bsontype: 'ObjectId' }, { constructor: 1 }, { then: 1 }, { toString: 'a' }],
  ...[new Date(0), new Date(Number.NaN), new Types.ObjectId(), Types.Decimal128.fromString('1.5')],
  ...[new Set(['a']), new Map([['a', 1]]), Symbol('a'), 1n, () => 1],
];

describe.each(FIELD_RULES)('a field with $name', ({ decorators, fits, name }) => {
  const reader = new InputReader(classOfFields([{ decorators, fits, name }]));

  it.each(fits.map((f0) => ({ f0 })))('accepts $f0, in a create and in a patch', async ({ f0 }) => {
    expect(await faultsOf(reader.read({ f0 }))).toEqual([]);
    expect(await faultsOf(reader.readPatch({ f0 }))).toEqual([]);
  });

  it('accepts any other value, or lists each of its faults once', async () => {
    for (const f0 of STRANGERS) {
      for (const verb of ['read', 'readPatch'] as const) {
        const pointers = (await faultsOf(reader[verb]({ f0 }))).map(
          (fault) => 'pointer' in fault && fault.pointer,
        );
        expect(new Set(pointers).size).toBe(pointers.length);
      }
    }
  });
});

it.each(OWN_RULES)('a class with %s is checked by it', async (_name, decorators, body, details) => {
  const type = classOfFields([{ name: 'another', decorators: () => [validators.IsString()], fits: ['a'] }]);
  for (const decorate of decorators()) decorate(type.prototype as object, 'own');
  const faults = await faultsOf(new InputReader(type).read({ f0: 'a', ...body }));
  expect(faults.map(({ detail }) => detail)).toEqual(details);
});

it('checks nested objects, lists of them, and fields that a patch omits', async () => {
  const reader = new InputReader(ProductInput);
  const variants = [{ sku: 'a', price: '1.50', dimensions: { width: 1 } }];
  const pointersOf = async (reading: Promise<unknown>) =>
    (await faultsOf(reading)).map((fault) => 'pointer' in fault && fault.pointer);
  expect(await pointersOf(reader.read({ name: 'Chair', variants, labels: ['a'] }))).toEqual([]);
  expect(await pointersOf(reader.readPatch({ dimensions: { depth: 2 } }))).toEqual([]);
  expect(await pointersOf(reader.check({ dimensions: { depth: 2 } } as never))).toEqual([
    '/dimensions/width',
  ]);
  expect(await pointersOf(reader.read({ name: 'Chair' }))).toEqual(['/variants']);
  const tooPrecise = [{ sku: 'a', price: '1.505' }];
  expect(await pointersOf(reader.read({ name: 'Chair', variants: tooPrecise }))).toContain(
    '/variants/0/price',
  );
});

it('rejects a null entry, and a list in a list, of nested objects', async () => {
  class Part {
    @validators.IsString() name!: string;
  }
  class Whole {
    @validators.IsArray()
    @validators.ValidateNested({ each: true })
    @TransformType(() => Part)
    parts!: Part[];
  }
  const reader = new InputReader(Whole);
  expect(await faultsOf(reader.read({ parts: [{ name: 'a' }] }))).toEqual([]);
  for (const parts of [[null], [[{ name: 'a' }]], { name: 'a' }]) {
    expect(await faultsOf(reader.read({ parts }))).not.toEqual([]);
  }
});
