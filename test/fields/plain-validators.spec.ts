import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Prop } from '@nestjs/mongoose';
import { Type } from 'class-transformer';
import * as v from 'class-validator';
import {
  type FieldDescription,
  fieldsOf,
  jsonSchemaOf,
  type JsonSchema,
} from '../../src/common/fields/index.js';

enum Colour {
  Red = 'red',
  Blue = 'blue',
}
enum Level {
  Low,
  High = 5,
}

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

type Described = Omit<FieldDescription, 'name' | 'required' | 'list'> & {
  list?: boolean;
  required?: boolean;
};

const single = (kind: FieldDescription['kind'], schema: JsonSchema): Described => ({ kind, schema });
const list = (kind: FieldDescription['kind'], items: JsonSchema, bounds: JsonSchema = {}): Described => ({
  kind,
  list: true,
  schema: { type: 'array', items, ...bounds },
});

/** A validator of the author's own, which says nothing about types. */
const IsLucky = () => v.ValidateBy({ name: 'isLucky', validator: { validate: (value) => value === 7 } });

class Everything {
  @v.IsString() text!: string;
  @v.IsString() @v.Length(2, 8) length!: string;
  @v.MinLength(2) @v.MaxLength(9) lengths!: string;
  @v.IsString() @v.IsNotEmpty() notEmpty!: string;
  @v.Matches(/^[a-z]+$/) matches!: string;
  @v.Matches(/^[a-z]+$/i) anyCase!: string;
  @v.Matches('^a', 'u') matchesText!: string;
  @v.IsEmail() email!: string;
  @v.IsUrl() url!: string;
  @v.IsUUID() uuid!: string;
  @v.IsIP(4) ip!: string;
  @v.IsPhoneNumber() phone!: string;
  @v.IsDateString() dateString!: string;
  @v.IsISO8601() iso8601!: string;
  @v.IsInt() integer!: number;
  @v.IsInt() @v.Min(1) @v.Max(5) bounded!: number;
  @v.Min(0.5) min!: number;
  @v.IsNumber({ maxDecimalPlaces: 2 }) places!: number;
  @v.IsNumber() @v.IsPositive() positive!: number;
  @v.IsNumber() @v.IsNegative() negative!: number;
  @v.IsInt() @v.IsNegative() negativeInteger!: number;
  @v.IsInt() @v.IsDivisibleBy(3) thirds!: number;
  @v.IsBoolean() flag!: boolean;
  @v.IsDate() date!: Date;
  @Type(() => Date) @v.IsOptional() typedDate?: Date;
  @v.IsEnum(Colour) colour!: Colour;
  @v.IsString() @v.IsEnum(Colour) stringColour!: Colour;
  @v.IsEnum(Level) level!: Level;
  @v.IsIn(['a', 'b']) oneOf!: string;
  @v.IsIn([1, 2.5]) oneOfNumbers!: number;
  @v.IsMongoId() id!: string;
  @v.IsObject() object!: object;
  @v.ValidateNested() @Type(() => Size) size!: Size;
  @v.ValidateNested() designed!: Size;
  @v.IsArray() anything!: unknown[];
  @v.IsArray()
  @v.IsString({ each: true })
  @v.ArrayMinSize(1)
  @v.ArrayMaxSize(3)
  @v.ArrayUnique()
  words!: string[];
  @v.MaxLength(4, { each: true }) @v.ArrayNotEmpty() bare!: string[];
  @v.IsEnum(Colour, { each: true }) colours!: Colour[];
  @v.IsMongoId({ each: true }) ids!: string[];
  @v.IsArray() @v.IsInt({ each: true }) @v.Min(0, { each: true }) counts!: number[];
  @v.IsDate({ each: true }) @Type(() => Date) dates!: Date[];
  @v.ValidateNested({ each: true }) @Type(() => Size) @v.ArrayMaxSize(9) sizes!: Size[];
  @v.IsArray()
  @v.ArrayUnique((size: Size) => size.width)
  @v.ValidateNested()
  @Type(() => Size)
  differing!: Size[];

  @IsLucky() lucky!: number;
  @IsLucky() luckyText!: string;
  @IsLucky() luckyAny!: unknown;
  @v.Equals(true) accepted!: boolean;
  @v.IsNotEmpty() named!: string;
  @v.IsOptional() @v.IsInt() optional?: number;
  @v.ValidateIf((it: Everything) => it.flag) @v.IsInt() conditional?: number;
  @v.IsDefined() @v.IsInt() defined!: number;
  @Prop({ default: 3 }) @v.IsOptional() @v.IsInt() defaulted?: number;
}

const EXPECTED: Record<string, Described> = {
  text: single('text', { type: 'string' }),
  length: single('text', { type: 'string', minLength: 2, maxLength: 8 }),
  lengths: single('text', { type: 'string', minLength: 2, maxLength: 9 }),
  notEmpty: single('text', { type: 'string', minLength: 1 }),
  matches: single('text', { type: 'string', pattern: '^[a-z]+$' }),
  anyCase: single('text', { type: 'string' }),
  matchesText: single('text', { type: 'string', pattern: '^a' }),
  email: single('text', { type: 'string', format: 'email' }),
  url: single('text', { type: 'string', format: 'uri' }),
  uuid: single('text', { type: 'string', format: 'uuid' }),
  ip: single('text', { type: 'string', format: 'ipv4' }),
  phone: single('text', { type: 'string' }),
  dateString: single('text', { type: 'string', format: 'date-time' }),
  iso8601: single('text', { type: 'string', format: 'date-time' }),
  integer: single('integer', { type: 'integer' }),
  bounded: single('integer', { type: 'integer', minimum: 1, maximum: 5 }),
  min: single('number', { type: 'number', minimum: 0.5 }),
  places: single('number', { type: 'number', multipleOf: 0.01 }),
  positive: single('number', { type: 'number', minimum: 0, exclusiveMinimum: true }),
  negative: single('number', { type: 'number', maximum: 0, exclusiveMaximum: true }),
  negativeInteger: single('integer', { type: 'integer', maximum: -1 }),
  thirds: single('integer', { type: 'integer', multipleOf: 3 }),
  flag: single('flag', { type: 'boolean' }),
  date: single('timestamp', { type: 'string', format: 'date-time' }),
  typedDate: { ...single('timestamp', { type: 'string', format: 'date-time' }), required: false },
  colour: { ...single('enum', { type: 'string', enum: ['red', 'blue'] }), values: ['red', 'blue'] },
  stringColour: { ...single('enum', { type: 'string', enum: ['red', 'blue'] }), values: ['red', 'blue'] },
  level: { ...single('enum', { type: 'integer', enum: [0, 5] }), values: [0, 5] },
  oneOf: { ...single('enum', { type: 'string', enum: ['a', 'b'] }), values: ['a', 'b'] },
  oneOfNumbers: { ...single('enum', { type: 'number', enum: [1, 2.5] }), values: [1, 2.5] },
  id: single('identifier', {
    type: 'string',
    pattern: '^[0-9a-fA-F]{24}$',
    example: '665f1c2ab7e3a90d4c8b4567',
  }),
  object: single('other', { type: 'object', additionalProperties: true }),
  size: { ...single('nested', SIZE), nested: Size },
  designed: { ...single('nested', SIZE), nested: Size },
  anything: list('other', {}),
  words: list('text', { type: 'string' }, { minItems: 1, maxItems: 3, uniqueItems: true, example: ['news'] }),
  bare: list('text', { type: 'string', maxLength: 4 }, { minItems: 1, example: ['news'] }),
  colours: { ...list('enum', { type: 'string', enum: ['red', 'blue'] }), values: ['red', 'blue'] },
  ids: list('identifier', {
    type: 'string',
    pattern: '^[0-9a-fA-F]{24}$',
    example: '665f1c2ab7e3a90d4c8b4567',
  }),
  counts: list('integer', { type: 'integer', minimum: 0 }),
  dates: list('timestamp', { type: 'string', format: 'date-time' }),
  sizes: { ...list('nested', SIZE, { maxItems: 9 }), nested: Size },
  differing: { ...list('nested', SIZE), nested: Size },
  lucky: single('number', { type: 'number' }),
  luckyText: single('text', { type: 'string' }),
  luckyAny: single('other', {}),
  accepted: single('flag', { type: 'boolean', enum: [true] }),
  named: single('text', { type: 'string', minLength: 1 }),
  optional: { ...single('integer', { type: 'integer' }), required: false },
  conditional: { ...single('integer', { type: 'integer' }), required: false },
  defined: single('integer', { type: 'integer' }),
  defaulted: { ...single('integer', { type: 'integer', default: 3 }), required: false, default: 3 },
};

describe('plain decorators of class-validator', () => {
  it.each(Object.entries(EXPECTED))('describe %s', (name, expected) => {
    const field = fieldsOf(Everything).find((candidate) => candidate.name === name);
    expect(field).toEqual({ name, required: true, list: false, ...expected });
  });

  it('are all in the schema of the class, in order', () => {
    const { properties, required } = jsonSchemaOf(Everything);
    expect(Object.keys(properties ?? {})).toEqual(Object.keys(EXPECTED));
    const optional = ['typedDate', 'optional', 'conditional', 'defaulted'];
    expect(required).toEqual(Object.keys(EXPECTED).filter((name) => !optional.includes(name)));
  });
});

describe('options of @ApiProperty()', () => {
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

  it('are merged over what the validators say', () => {
    expect(jsonSchemaOf(Documented).properties).toEqual({
      name: { type: 'string', description: 'A name', example: 'Ann', minLength: 3 },
      big: { type: 'integer', format: 'int64', minimum: 1 },
      day: { type: 'string', format: 'date' },
      colour: { type: 'string', enum: ['red', 'blue'], description: 'Its colour' },
      colours: { type: 'array', items: { type: 'string', enum: ['red', 'blue'] } },
      words: { type: 'array', items: { type: 'string' }, example: ['a'], maxItems: 7 },
      size: { ...SIZE, description: 'How large' },
      count: { type: 'integer', description: 'How many' },
      scores: { type: 'object', additionalProperties: { type: 'number' } },
    });
  });
});
