import { ApiProperty, ApiPropertyOptional, PickType } from '@nestjs/swagger';
import { Prop } from '@nestjs/mongoose';
import { Type } from 'class-transformer';
import * as v from 'class-validator';
import { Types } from 'mongoose';
import {
  type FieldDescription,
  fieldsOf,
  InputReader,
  jsonSchemaOf,
  type JsonSchema,
} from '../../src/common/fields/index.js';
import { classWith, Colour, DATE, ID, IDENTIFIER, Level } from '../support/field-case.js';
import { expectFaults, faultsOf } from '../support/faults.js';

class Size {
  @v.IsInt() @v.IsPositive() width!: number;
  @v.IsOptional() @v.IsString() unit?: string;
}

const SIZE: JsonSchema = {
  type: 'object',
  properties: { width: { type: 'integer', minimum: 1 }, unit: { type: 'string' } },
  required: ['width'],
  additionalProperties: false,
};
const COLOUR: JsonSchema = { type: 'string', enum: ['red', 'blue'] };

/** The descriptions of the fields below, by their names. */
const EXPECTED: Record<string, Partial<FieldDescription>> = {};

/** Notes how a field must be described. */
const is =
  (kind: FieldDescription['kind'], schema: JsonSchema, more: Partial<FieldDescription> = {}) =>
  (_target: object, name: string) => {
    EXPECTED[name] = { name, kind, schema, required: true, list: false, ...more };
  };
const isText = (schema: JsonSchema = {}) => is('string', { type: 'string', ...schema });
const isInteger = (schema: JsonSchema = {}) => is('integer', { type: 'integer', ...schema });
const isNumber = (schema: JsonSchema = {}) => is('number', { type: 'number', ...schema });
const isEnum = (type: JsonSchema['type'], ...values: (string | number)[]) =>
  is('enum', { type, enum: values }, { values });
const isList = (
  kind: FieldDescription['kind'],
  items: JsonSchema,
  bounds: JsonSchema = {},
  more: Partial<FieldDescription> = {},
) => is(kind, { type: 'array', items, ...bounds }, { list: true, ...more });
const optional = { required: false };

/** A validator of the author's own, which says nothing about types. */
const IsLucky = () => v.ValidateBy({ name: 'isLucky', validator: { validate: (value) => value === 7 } });

class Everything {
  @isText() @v.IsString() text!: string;
  @isText({ minLength: 2, maxLength: 8 }) @v.IsString() @v.Length(2, 8) length!: string;
  @isText({ minLength: 2, maxLength: 9 }) @v.MinLength(2) @v.MaxLength(9) lengths!: string;
  @isText({ minLength: 1 }) @v.IsString() @v.IsNotEmpty() notEmpty!: string;
  @isText({ pattern: '^[a-z]+$' }) @v.Matches(/^[a-z]+$/) matches!: string;
  @isText() @v.Matches(/^[a-z]+$/i) anyCase!: string;
  @isText({ pattern: '^a' }) @v.Matches('^a', 'u') matchesText!: string;
  @isText({ format: 'email' }) @v.IsEmail() email!: string;
  @isText({ format: 'uri' }) @v.IsUrl() url!: string;
  @isText({ format: 'uuid' }) @v.IsUUID() uuid!: string;
  @isText({ format: 'ipv4' }) @v.IsIP(4) ip!: string;
  @isText() @v.IsPhoneNumber() phone!: string;
  @is('string', DATE) @v.IsDateString() dateString!: string;
  @is('string', DATE) @v.IsISO8601() iso8601!: string;
  @isInteger() @v.IsInt() integer!: number;
  @isInteger({ minimum: 1, maximum: 5 }) @v.IsInt() @v.Min(1) @v.Max(5) bounded!: number;
  @isNumber({ minimum: 0.5 }) @v.Min(0.5) min!: number;
  @isNumber({ multipleOf: 0.01 }) @v.IsNumber({ maxDecimalPlaces: 2 }) places!: number;
  @isNumber({ minimum: 0, exclusiveMinimum: true }) @v.IsNumber() @v.IsPositive() positive!: number;
  @isNumber({ maximum: 0, exclusiveMaximum: true }) @v.IsNumber() @v.IsNegative() negative!: number;
  @isInteger({ maximum: -1 }) @v.IsInt() @v.IsNegative() negativeInteger!: number;
  @isInteger({ multipleOf: 3 }) @v.IsInt() @v.IsDivisibleBy(3) thirds!: number;
  @is('boolean', { type: 'boolean' }) @v.IsBoolean() flag!: boolean;
  @is('timestamp', DATE) @v.IsDate() date!: Date;
  @is('timestamp', DATE, optional) @Type(() => Date) @v.IsOptional() typedDate?: Date;
  @isEnum('string', 'red', 'blue') @v.IsEnum(Colour) colour!: Colour;
  @isEnum('string', 'red', 'blue') @v.IsString() @v.IsEnum(Colour) stringColour!: Colour;
  @isEnum('integer', 0, 5) @v.IsEnum(Level) level!: Level;
  @isEnum('string', 'a', 'b') @v.IsIn(['a', 'b']) oneOf!: string;
  @isEnum('number', 1, 2.5) @v.IsIn([1, 2.5]) oneOfNumbers!: number;
  @is('identifier', IDENTIFIER) @v.IsMongoId() id!: string;
  @is('other', { type: 'object', additionalProperties: true }) @v.IsObject() object!: object;
  @is('nested', SIZE, { nested: Size }) @v.ValidateNested() @Type(() => Size) size!: Size;
  @is('nested', SIZE, { nested: Size }) @v.ValidateNested() designed!: Size;
  @isList('other', {}) @v.IsArray() anything!: unknown[];
  @isList('string', { type: 'string' }, { minItems: 1, maxItems: 3, uniqueItems: true, example: ['news'] })
  @v.IsArray()
  @v.IsString({ each: true })
  @v.ArrayMinSize(1)
  @v.ArrayMaxSize(3)
  @v.ArrayUnique()
  words!: string[];
  @isList('string', { type: 'string', maxLength: 4 }, { minItems: 1, example: ['news'] })
  @v.MaxLength(4, { each: true })
  @v.ArrayNotEmpty()
  bare!: string[];
  @isList('enum', COLOUR, {}, { values: ['red', 'blue'] })
  @v.IsEnum(Colour, { each: true })
  colours!: Colour[];
  @isList('identifier', IDENTIFIER) @v.IsMongoId({ each: true }) ids!: string[];
  @isList('integer', { type: 'integer', minimum: 0 })
  @v.IsArray()
  @v.IsInt({ each: true })
  @v.Min(0, { each: true })
  counts!: number[];
  @isList('timestamp', DATE) @v.IsDate({ each: true }) @Type(() => Date) dates!: Date[];
  @isList('nested', SIZE, { maxItems: 9 }, { nested: Size })
  @v.ValidateNested({ each: true })
  @Type(() => Size)
  @v.ArrayMaxSize(9)
  sizes!: Size[];
  @isList('nested', SIZE, {}, { nested: Size })
  @v.IsArray()
  @v.ArrayUnique((size: Size) => size.width)
  @v.ValidateNested()
  @Type(() => Size)
  differing!: Size[];

  @isNumber() @IsLucky() lucky!: number;
  @isText() @IsLucky() luckyText!: string;
  @is('other', {}) @IsLucky() luckyAny!: unknown;
  @is('boolean', { type: 'boolean', enum: [true] }) @v.Equals(true) accepted!: boolean;
  @isText({ minLength: 1 }) @v.IsNotEmpty() named!: string;
  @is('integer', { type: 'integer' }, optional) @v.IsOptional() @v.IsInt() optional?: number;
  @is('integer', { type: 'integer' }, optional) @v.ValidateIf(() => true) @v.IsInt() conditional?: number;
  @isInteger() @v.IsDefined() @v.IsInt() defined!: number;
  @isInteger() @v.IsInt() @v.NotEquals(5) notFive!: number;
  @isText() @v.IsString() @v.IsNotIn(['red']) notRed!: string;
  @isText() @v.IsDecimal() decimal!: string;
  @isText() @v.IsString({ context: { code: 1 } }) contextual!: string;
  @is('timestamp', DATE) @v.IsDate() @v.MinDate(new Date(0)) @Type(() => Date) lateDate!: Date;
  @isList('enum', { type: 'string', enum: ['a', 'b'] }, {}, { values: ['a', 'b'] })
  @v.IsIn(['a', 'b'], { each: true })
  letters!: string[];
  @isList('integer', { type: 'integer' }) @v.IsInt({ each: true }) @v.ArrayContains([1]) ones!: number[];
  @is('other', {}) @v.Allow() allowed!: unknown;
  @is('integer', { type: 'integer', default: 3 }, { required: false, default: 3 })
  @Prop({ default: 3 })
  @v.IsOptional()
  @v.IsInt()
  defaulted?: number;
}

describe('plain decorators of class-validator', () => {
  it.each(Object.entries(EXPECTED))('describe %s', (name, expected) => {
    expect(fieldsOf(Everything).find((candidate) => candidate.name === name)).toEqual(expected);
  });

  it('are all in the schema of the class, in order', () => {
    const { properties, required } = jsonSchemaOf(Everything);
    expect(Object.keys(properties ?? {})).toEqual(Object.keys(EXPECTED));
    const optionals = ['typedDate', 'optional', 'conditional', 'defaulted'];
    expect(required).toEqual(Object.keys(EXPECTED).filter((name) => !optionals.includes(name)));
  });
});

const MOMENT = '2026-01-31T09:00:00.000Z';
/** Values that the fields take. */
const FITS: Readonly<Record<keyof Everything, readonly unknown[]>> = {
  ...{
    text: ['a', ''],
    length: ['ab'],
    lengths: ['ab'],
    notEmpty: ['a'],
    matches: ['red'],
    anyCase: ['Red'],
  },
  ...{ matchesText: ['ab'], email: ['a@example.org'], url: ['https://example.org/'], ip: ['192.0.2.1'] },
  ...{ uuid: ['9b2f6f4e-6b0e-4c53-9d0c-4a5be7f0a111'], phone: ['+41446681800'], dateString: [MOMENT] },
  ...{ iso8601: [MOMENT], integer: [0, 7], bounded: [1, 5], min: [0.5], places: [1.25], positive: [0.1] },
  ...{ negative: [-1.5], negativeInteger: [-1], thirds: [3], flag: [true, false], date: [new Date(0)] },
  ...{ typedDate: [MOMENT], colour: ['red'], stringColour: ['red'], level: [0, 5], oneOf: ['a'] },
  ...{ oneOfNumbers: [1, 2.5], id: [ID], object: [{ a: 1 }], size: [{ width: 1 }], designed: [{ width: 1 }] },
  ...{ anything: [[], [1, 'a']], words: [['a', 'b']], bare: [['a']], colours: [['red']], ids: [[ID]] },
  ...{ counts: [[0, 1]], dates: [[MOMENT]], sizes: [[], [{ width: 1 }]], differing: [[{ width: 1 }]] },
  ...{ lucky: [7], luckyText: [], luckyAny: [7], accepted: [true], named: ['a'], optional: [7, undefined] },
  ...{ conditional: [7], defined: [7], notFive: [7], notRed: ['a'], decimal: ['12.50'], contextual: ['a'] },
  ...{ lateDate: [MOMENT], letters: [['a'], ['b', 'a']], ones: [[1, 7]], allowed: ['a', { a: [1] }] },
  defaulted: [7],
};

/** Values that fit some fields and surprise others; the last ones only code has. */
const STRANGERS: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 7, Infinity, '', ' ', 'a', '5', 'red', '\ud800', '12.50', ID, MOMENT],
  ...['longer than most fields take', [], ['a'], ['a', 'a'], [1, null], [[]], [{}]],
  ...[[{ width: 1 }, { width: '1' }], {}, { width: 3 }, { width: 0, depth: null }, { width: 3, stray: 1 }],
  ...[{ _bsontype: 'ObjectId' }, { constructor: 1 }, { then: 1 }, { toString: 'a' }],
  ...[new Date(0), new Date(Number.NaN), new Types.ObjectId(), Types.Decimal128.fromString('1.5')],
  ...[new Set(['a']), new Map([['a', 1]]), Symbol('a'), 1n, () => 1],
];

describe.each(Object.entries(FITS))('the field %s', (name, fits) => {
  const reader = new InputReader(PickType(Everything, [name as keyof Everything]));
  const faults = async (value: unknown) => [
    await faultsOf(reader.read({ [name]: value })),
    await faultsOf(reader.readPatch({ [name]: value })),
  ];

  it('accepts what fits, in a create and in a patch', async () => {
    for (const value of fits) expect([value, await faults(value)]).toEqual([value, [[], []]]);
  });

  it('accepts any other value, or lists each of its faults once', async () => {
    for (const value of STRANGERS) {
      for (const listed of await faults(value)) {
        const pointers = listed.map((one) => 'pointer' in one && one.pointer);
        expect(pointers).toEqual([...new Set(pointers)]);
      }
    }
  });
});

/** A validator of an application's own that accepts nothing. */
const rejecting = (name: string, message: string, validate: () => boolean | Promise<boolean>) =>
  v.ValidateBy({ name, validator: { validate, defaultMessage: () => message } });
const grouped = [v.IsString({ groups: ['admin'] }), v.MinLength(2, { message: 'Short.' })];

it.each<[name: string, decorators: PropertyDecorator[], ...messages: string[]]>([
  ['a validator of its own', [rejecting('isMine', 'Not mine.', () => false)], 'Not mine.'],
  ['an asynchronous validator', [rejecting('isFree', 'Taken.', async () => false)], 'Taken.'],
  ['one by the name of another', [rejecting('isString', 'Mine.', async () => false)], 'Mine.'],
  ['a condition of one validator', [v.MinLength(3, { validateIf: () => false })]],
  ['groups', grouped, 'Short.'],
])('a field with %s is checked by it', async (_name, decorators, ...messages) => {
  const type = classWith(...decorators);
  v.IsString()(type.prototype as object, 'other');
  const faults = messages.map((detail) => ({ pointer: '/value', detail }));
  await expectFaults(new InputReader(type).read({ other: 'a', value: 'a' }), ...faults);
});

class Documented {
  @ApiProperty({ description: 'A name', example: 'Ann', minLength: 3 }) @v.IsString() name!: string;
  @ApiPropertyOptional({ type: 'integer', format: 'int64' }) @v.Min(1) big!: number;
  @ApiProperty({ type: String, format: 'date' }) @IsLucky() day!: unknown;
  @ApiProperty({ enum: Colour, description: 'Its colour' }) @v.IsString() colour!: string;
  @ApiProperty({ enum: Colour, isArray: true }) @v.IsArray() colours!: Colour[];
  @ApiProperty({ type: [String], example: ['a'], maxItems: 7 }) @v.IsArray() words!: string[];
  @ApiProperty({ type: () => Size, description: 'How large' })
  @v.ValidateNested()
  @Type(() => Size)
  size!: Size;
  @ApiProperty({ description: 'How many' }) @v.IsInt() count!: number;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'number' } })
  @v.IsObject()
  scores!: Record<string, number>;
}

it('options of @ApiProperty() are merged over what the validators say', () => {
  expect(jsonSchemaOf(Documented).properties).toEqual({
    name: { type: 'string', description: 'A name', example: 'Ann', minLength: 3 },
    big: { type: 'integer', format: 'int64', minimum: 1 },
    day: { type: 'string', format: 'date' },
    colour: { ...COLOUR, description: 'Its colour' },
    colours: { type: 'array', items: COLOUR },
    words: { type: 'array', items: { type: 'string' }, example: ['a'], maxItems: 7 },
    size: { ...SIZE, description: 'How large' },
    count: { type: 'integer', description: 'How many' },
    scores: { type: 'object', additionalProperties: { type: 'number' } },
  });
});
