import { Type as TransformType } from 'class-transformer';
import * as v from 'class-validator';
import { Types } from 'mongoose';
import * as f from '../../src/common/fields/index.js';
import { classWith, Colour, ID } from '../support/field-case.js';
import { expectFaults, faultsOf } from '../support/faults.js';

class Size {
  @v.IsInt() @v.IsPositive() width!: number;
  @v.IsOptional() @v.IsString() @v.MaxLength(3) unit?: string;
  @v.IsOptional() @v.ValidateNested() @TransformType(() => Size) inner?: Size;
}

const isSize = TransformType(() => Size);
const MOMENT = '2026-01-31T09:00:00.000Z';

/** The decorators of a field, and values that they accept. */
type Row = [name: string, decorators: () => PropertyDecorator[], ...fits: unknown[]];

/** Those of field decorators are in fields.spec.ts and compound-fields.spec.ts. */
const PLAIN: Row[] = [
  ['IsString', () => [v.IsString()], 'a', ''],
  ['Length', () => [v.IsString(), v.Length(1, 3)], 'a', 'abc'],
  ['a message of its own', () => [v.MinLength(2, { message: '$property: $constraint1, not $value' })], 'ab'],
  ['Matches', () => [v.IsString(), v.Matches(/^[a-z]+$/)], 'red'],
  ['IsEmail', () => [v.IsEmail()], 'a@example.org'],
  ['IsUrl', () => [v.IsUrl()], 'https://example.org/'],
  ['IsUUID', () => [v.IsUUID()], '9b2f6f4e-6b0e-4c53-9d0c-4a5be7f0a111'],
  ['IsISO8601', () => [v.IsISO8601()], MOMENT],
  ['IsDate', () => [v.IsDate(), TransformType(() => Date)], MOMENT],
  ['MinDate', () => [v.IsDate(), v.MinDate(new Date(0)), TransformType(() => Date)], MOMENT],
  ['IsInt', () => [v.IsInt(), v.Min(0), v.Max(9)], 0, 7],
  ['IsNumber', () => [v.IsNumber({ maxDecimalPlaces: 1 })], 1.5],
  ['IsDivisibleBy', () => [v.IsDivisibleBy(7), v.IsPositive()], 7],
  ['IsBoolean', () => [v.IsBoolean()], true],
  ['IsEnum', () => [v.IsEnum(Colour)], 'red'],
  ['IsIn', () => [v.IsIn(['a', 1])], 'a', 1],
  ['IsNotIn', () => [v.IsString(), v.IsNotIn(['red'])], 'a'],
  ['Equals', () => [v.Equals(7)], 7],
  ['NotEquals', () => [v.IsInt(), v.NotEquals(5)], 7],
  ['IsMongoId', () => [v.IsMongoId()], ID],
  ['IsNotEmpty', () => [v.IsNotEmpty(), v.IsString()], 'a'],
  ['IsDefined', () => [v.IsDefined(), v.IsInt()], 7],
  ['IsObject', () => [v.IsObject(), v.IsNotEmptyObject()], { a: 1 }],
  ['Allow', () => [v.Allow()], 'a', { a: [1] }],
  ['IsArray', () => [v.IsArray(), v.ArrayMaxSize(2)], [], [1, 'a']],
  ['ArrayUnique', () => [v.IsString({ each: true }), v.ArrayUnique(), v.ArrayNotEmpty()], ['a', 'b']],
  ['ArrayContains', () => [v.IsInt({ each: true }), v.ArrayContains([1]), v.ArrayMinSize(1)], [1, 7]],
  ['IsIn, each', () => [v.IsIn(['a', 'b'], { each: true })], ['a'], ['b', 'a']],
  ['ValidateNested', () => [v.ValidateNested(), isSize], { width: 1, inner: { width: 2 } }],
  ['ValidateNested, each', () => [v.ValidateNested({ each: true }), isSize], [], [{ width: 1 }]],
  ['ValidateNested without a class', () => [v.IsOptional(), v.ValidateNested()]],
  ['IsDecimal', () => [v.IsDecimal()], '12.50'],
  ['IsPhoneNumber', () => [v.IsPhoneNumber()], '+41446681800'],
  ['a context', () => [v.IsString({ context: { code: 1 } })], 'a'],
];

/** Those fields, and the same with `@IsOptional()`. */
const RULES: Row[] = PLAIN.flatMap(([name, decorators, ...fits]): Row[] => [
  [name, decorators, ...fits],
  [`${name}, optional`, () => [v.IsOptional(), ...decorators()], ...fits],
]);

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

describe.each(RULES)('a field with %s', (_name, decorators, ...fits) => {
  const reader = new f.InputReader(classWith(...decorators()));

  it('accepts what fits, in a create and in a patch', async () => {
    for (const value of fits) {
      expect([value, await faultsOf(reader.read({ value }))]).toEqual([value, []]);
      expect([value, await faultsOf(reader.readPatch({ value }))]).toEqual([value, []]);
    }
  });

  it('accepts any other value, or lists each of its faults once', async () => {
    for (const value of STRANGERS) {
      for (const verb of ['read', 'readPatch'] as const) {
        const faults = await faultsOf(reader[verb]({ value }));
        const pointers = faults.map((fault) => 'pointer' in fault && fault.pointer);
        expect(new Set(pointers).size).toBe(pointers.length);
      }
    }
  });
});

/** A validator of an application's own that accepts nothing. */
const rejecting = (name: string, message: string, validate: () => boolean | Promise<boolean>) =>
  v.ValidateBy({ name, validator: { validate, defaultMessage: () => message } });

it.each<[name: string, decorators: PropertyDecorator[], body: object, ...messages: string[]]>([
  ['a validator of its own', [rejecting('isMine', 'Not mine.', () => false)], { value: 'a' }, 'Not mine.'],
  ['an asynchronous validator', [rejecting('isFree', 'Taken.', async () => false)], { value: 'a' }, 'Taken.'],
  [
    'one by the name of another',
    [rejecting('isString', 'Mine.', async () => false)],
    { value: 'a' },
    'Mine.',
  ],
  ['a condition of one validator', [v.MinLength(3, { validateIf: () => false })], { value: 'a' }],
  [
    'groups',
    [v.IsString({ groups: ['admin'] }), v.MinLength(2, { message: 'Short.' })],
    { value: 'a' },
    'Short.',
  ],
])('a field with %s is checked by it', async (_name, decorators, body, ...messages) => {
  const type = classWith(...decorators);
  v.IsString()(type.prototype as object, 'other');
  const faults = messages.map((detail) => ({ pointer: '/value', detail }));
  await expectFaults(new f.InputReader(type).read({ other: 'a', ...body }), ...faults);
});
