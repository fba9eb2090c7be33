import type { Type } from '@nestjs/common';
import { Type as TransformType } from 'class-transformer';
import * as v from 'class-validator';
import {
  IsDecimal,
  IsFlag,
  IsIdentifier,
  IsListOf,
  IsNested,
  IsNumber,
  IsOneOf,
  IsReference,
  IsText,
  IsTextList,
  IsTimestamp,
  IsWholeNumber,
} from '../../src/common/fields/index.js';
import { Category, Dimensions, Variant } from './product-input.js';

/** The decorators of a field, and values that they accept. */
export interface RuleCase {
  name: string;
  decorators: () => PropertyDecorator[];
  fits: unknown[];
}

enum Colour {
  Red = 'red',
  Blue = 'blue',
}

class Size {
  @v.IsInt() @v.IsPositive() width!: number;
  @v.IsOptional() @v.IsString() @v.MaxLength(3) unit?: string;
  @v.IsOptional() @v.ValidateNested() @TransformType(() => Size) inner?: Size;
}

const ID = '665f1c2ab7e3a90d4c8b4567';
const MOMENT = '2026-01-31T09:00:00.000Z';
const VARIANT = { sku: 'a', price: '1.50', dimensions: { width: 1 } };

type Row = [name: string, decorators: () => PropertyDecorator[], ...fits: unknown[]];

const DECLARED: Row[] = [
  ['IsText', () => [IsText({ min: 1, max: 9 })], 'a', 'longer'],
  ['IsText, optional', () => [IsText({ max: 3, countsOuterSpace: false, optional: true })], ' a ', ''],
  ['IsFlag', () => [IsFlag({ default: false })], true, false],
  ['IsWholeNumber', () => [IsWholeNumber({ min: -1, max: 9 })], -1, 7],
  ['IsNumber', () => [IsNumber({ max: 9 })], 1.5, 0],
  ['IsDecimal', () => [IsDecimal({ scale: 2, min: 0 })], '12.50', '0'],
  ['IsTimestamp', () => [IsTimestamp({ optional: true })], MOMENT],
  ['IsOneOf', () => [IsOneOf(Colour)], 'red', 'blue'],
  ['IsIdentifier', () => [IsIdentifier()], ID],
  ['IsReference', () => [IsReference(() => Category, { optional: true })], ID],
  ['IsTextList', () => [IsTextList({ maxEntries: 2, entry: { max: 5 }, optional: true })], [], ['a', 'b']],
  ['IsListOf values', () => [IsListOf(IsWholeNumber({ min: 0 }), { max: 2 })], [], [1, 7]],
  ['IsListOf timestamps', () => [IsListOf(IsTimestamp(), { max: 2 })], [MOMENT]],
  ['IsListOf objects', () => [IsListOf(() => Variant, { min: 1, max: 2 })], [VARIANT], [VARIANT, VARIANT]],
  ['IsNested', () => [IsNested(() => Dimensions)], { width: 1 }, { width: 3, depth: 2 }],
  ['IsNested, optional', () => [IsNested(() => Variant, { optional: true })], VARIANT],
];

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
  [
    'ValidateNested',
    () => [v.ValidateNested(), TransformType(() => Size)],
    { width: 1, inner: { width: 2 } },
  ],
  [
    'ValidateNested, each',
    () => [v.ValidateNested({ each: true }), TransformType(() => Size)],
    [],
    [{ width: 1 }],
  ],
  ['ValidateNested without a class', () => [v.IsOptional(), v.ValidateNested()]],
  ['IsDecimal', () => [v.IsDecimal()], '12.50'],
  ['IsPhoneNumber', () => [v.IsPhoneNumber()], '+41446681800'],
  ['a context', () => [v.IsString({ context: { code: 1 } })], 'a'],
];

const asCase = ([name, decorators, ...fits]: Row): RuleCase => ({ name, decorators, fits });
const optionally = ({ name, decorators, fits }: RuleCase): RuleCase => ({
  name: `${name}, optional`,
  decorators: () => [v.IsOptional(), ...decorators()],
  fits,
});

/** The field decorators, and the rules of class-validator, also with `@IsOptional()`. */
export const FIELD_RULES: readonly RuleCase[] = [...DECLARED, ...PLAIN]
  .map(asCase)
  .flatMap((rule) => [rule, optionally(rule)])
  .filter(({ fits }) => fits.length > 0);

/** A validator of an application's own that accepts nothing. */
const rejecting = (name: string, defaultMessage: string, validate: () => boolean | Promise<boolean>) =>
  v.ValidateBy({ name, validator: { validate, defaultMessage: () => defaultMessage } });

/** Rules of an application's own, with what a body is told. */
export const OWN_RULES: [
  name: string,
  decorators: () => PropertyDecorator[],
  body: object,
  details: string[],
][] = [
  [
    'a validator of its own',
    () => [rejecting('isMine', 'Not mine.', () => false)],
    { own: 'a' },
    ['Not mine.'],
  ],
  [
    'an asynchronous validator',
    () => [rejecting('isFree', 'Taken.', async () => false)],
    { own: 'a' },
    ['Taken.'],
  ],
  [
    'an asynchronous validator by the name of another',
    () => [rejecting('isString', 'Taken.', async () => false)],
    { own: 'a' },
    ['Taken.'],
  ],
  ['a condition', () => [v.ValidateIf(() => false), v.IsString()], {}, []],
  ['a condition of one validator', () => [v.MinLength(3, { validateIf: () => false })], { own: 'a' }, []],
  [
    'groups',
    () => [v.IsString({ groups: ['admin'] }), v.MinLength(2, { message: 'Too short.' })],
    { own: 'a' },
    ['Too short.'],
  ],
];

/** A class with the fields f0, f1 … of such rules. */
export function classOfFields(rules: readonly RuleCase[]): Type<object> {
  class Input {}
  rules.forEach(({ decorators }, i) => {
    for (const decorate of decorators()) decorate(Input.prototype, `f${i}`);
  });
  return Input;
}
