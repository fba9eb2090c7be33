import type { Type } from '@nestjs/common';
import { Type as TransformType } from 'class-transformer';
import * as validators from 'class-validator';
import fc from 'fast-check';
import { Types } from 'mongoose';
import { accepts, type ValueForm } from '../../../src/common/fields/compiled-check.js';
import { FaultList } from '../../../src/common/fields/fault-list.js';
import { InputReader } from '../../../src/common/fields/index.js';
import { instantiate } from '../../../src/common/fields/instantiate.js';
import { isBuiltIn } from '../../../src/common/fields/plain-rules.js';
import { verify, verifyByClassValidator } from '../../../src/common/fields/verify.js';
import { faultsOf } from '../../support/faults.js';
import { classOfFields, FIELD_RULES, type RuleCase, UNKNOWN_RULES } from '../../support/field-rules.js';
import { ProductInput } from '../../support/product-input.js';

const FORMS: readonly ValueForm[] = ['whole', 'patch', 'merged'];

/** Values that fit some fields and surprise others. */
const STRANGERS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  7,
  Infinity,
  '',
  ' ',
  'a',
  '5',
  'red',
  '\ud800',
  'longer than most fields take',
  '12.50',
  '665f1c2ab7e3a90d4c8b4567',
  '2026-01-31T09:00:00.000Z',
  [],
  ['a'],
  ['a', 'a'],
  [1, null],
  [[]],
  [{}],
  [{ width: 1 }, { width: '1' }],
  {},
  { width: 3 },
  { width: 0, depth: null },
  { width: 3, stray: 1 },
  { _bsontype: 'ObjectId' },
  { constructor: 1 },
  { then: 1 },
  { toString: 'a' },
];
/** Values that only code has. */
const VALUES_OF_CODE: readonly unknown[] = [
  new Date(0),
  new Date(Number.NaN),
  new Types.ObjectId(),
  Types.Decimal128.fromString('1.5'),
  new Set(['a']),
  new Map([['a', 1]]),
  Symbol('a'),
  1n,
  () => 1,
];

/** What a check says of a value: its faults in their order, or what it throws. */
async function verdict(
  check: typeof verify,
  type: Type<object>,
  body: Record<string, unknown>,
  form: ValueForm,
): Promise<unknown> {
  const faults = new FaultList();
  try {
    const patch = form === 'patch';
    const value =
      form === 'merged' ? body : instantiate(type, body, { patch, extras: [], faults, at: '', depth: 0 });
    await check(type, value, form, faults);
    return await faultsOf(Promise.resolve().then(() => faults.throwIfAny()));
  } catch (error) {
    return String(error);
  }
}

/** Bodies with the fields of a class: values that fit, and others. */
function bodiesOf(
  rules: readonly RuleCase[],
  values: readonly unknown[],
): fc.Arbitrary<Record<string, unknown>> {
  const fields = rules.map(({ fits }, i): [string, fc.Arbitrary<unknown>] => [
    `f${i}`,
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...fits) },
      { weight: 1, arbitrary: fc.constantFrom(...values) },
    ),
  ]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] }) as fc.Arbitrary<Record<string, unknown>>;
}

const rulesOf = (cases: readonly RuleCase[]) =>
  fc.array(fc.constantFrom(...cases), { minLength: 1, maxLength: 4 });

/** Class-validator looks at every class that there is each time: few classes, and many bodies of each. */
const options = { numRuns: 40 };
const BODIES = 25;

describe('the compiled check of a class', () => {
  it.each([
    ['bodies', STRANGERS],
    ['values of code', [...STRANGERS, ...VALUES_OF_CODE]],
  ])('says of %s what class-validator says, in the same words and order', async (_name, values) => {
    let accepted = 0;
    let refused = 0;
    const cases = rulesOf(FIELD_RULES).chain((rules) =>
      fc.tuple(
        fc.constant(rules),
        fc.array(bodiesOf(rules, values), { minLength: BODIES, maxLength: BODIES }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([rules, bodies]) => {
        const type = classOfFields(rules);
        for (const body of bodies) {
          for (const form of FORMS) {
            const expected = await verdict(verifyByClassValidator, type, body, form);
            expect(await verdict(verify, type, body, form)).toEqual(expected);
            if (Array.isArray(expected) && expected.length === 0) accepted += 1;
            else refused += 1;
          }
        }
      }),
      options,
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(200);
  });

  it('accepts every valid body without class-validator', () => {
    const cases = rulesOf(FIELD_RULES).chain((rules) =>
      fc.tuple(
        fc.constant(rules),
        fc.record(Object.fromEntries(rules.map(({ fits }, i) => [`f${i}`, fc.constantFrom(...fits)]))),
      ),
    );
    fc.assert(
      fc.property(cases, ([rules, body]) => {
        const type = classOfFields(rules);
        for (const form of FORMS) {
          const faults = new FaultList();
          const context = { patch: form === 'patch', extras: [], faults, at: '', depth: 0 };
          expect(accepts(type, instantiate(type, body as Record<string, unknown>, context), form)).toBe(true);
        }
      }),
      options,
    );
  });

  it.each(UNKNOWN_RULES)(
    'leaves a class to class-validator that has $name',
    async ({ decorators, body, details }) => {
      const type = classOfFields([
        { name: 'a known one', decorators: () => [validators.IsString()], fits: ['a'] },
      ]);
      for (const decorate of decorators()) decorate(type.prototype as object, 'own');
      const value = { f0: 'a', own: 'a' };
      expect(accepts(type, value, 'whole')).toBe(false);
      const faults = await faultsOf(new InputReader(type).read({ f0: 'a', ...body }));
      expect(faults.map(({ detail }) => detail)).toEqual(details);
    },
  );

  it('checks nested objects, lists of them, and fields that a patch omits', () => {
    const variants = [{ sku: 'a', price: '1.50', dimensions: { width: 1 } }];
    expect(accepts(ProductInput, { name: 'Chair', variants, labels: ['a'] }, 'whole')).toBe(true);
    expect(accepts(ProductInput, { dimensions: { depth: 2 } }, 'patch')).toBe(true);
    expect(accepts(ProductInput, { dimensions: { depth: 2 } }, 'merged')).toBe(false);
    expect(accepts(ProductInput, { name: 'Chair' }, 'whole')).toBe(false);
    expect(accepts(ProductInput, { name: 'Chair', variants: [{ sku: 'a', price: '1.505' }] }, 'whole')).toBe(
      false,
    );
  });

  it('takes a null entry, and a list in a list, for nothing', () => {
    class Part {
      @validators.IsString() name!: string;
    }
    class Whole {
      @validators.IsArray()
      @validators.ValidateNested({ each: true })
      @TransformType(() => Part)
      parts!: Part[];
    }
    expect(accepts(Whole, { parts: [{ name: 'a' }] }, 'whole')).toBe(true);
    for (const parts of [[null], [[{ name: 'a' }]], [undefined], { name: 'a' }]) {
      expect(accepts(Whole, { parts }, 'whole')).toBe(false);
    }
  });
});

it('every constraint of class-validator is known by its name', () => {
  const names = Object.entries(validators).flatMap(([name, value]) =>
    /^[A-Z][A-Z0-9_]+$/.test(name) && typeof value === 'string' ? [value] : [],
  );
  expect(names.length).toBeGreaterThan(90);
  expect(names.filter((name) => name !== 'isOptional' && !isBuiltIn(name))).toEqual([]);
  expect(['constructor', 'isMine', undefined].filter(isBuiltIn)).toEqual([]);
});
