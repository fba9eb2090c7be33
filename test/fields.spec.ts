import type { Type } from '@nestjs/common';
import { type SchemaDefinitionProperty, Schema, Types } from 'mongoose';
import { type Violation, ValidationError } from '../src/common/errors/index.js';
import {
  type FieldDecorator,
  fieldsOf,
  InputReader,
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
} from '../src/common/fields/index.js';

enum Colour {
  Red = 'red',
  Blue = 'blue',
}

enum Level {
  Low,
  High = 5,
}

class Tag {}

class Size {
  @IsWholeNumber({ min: 1 })
  width!: number;
}

const ID = '665f1c2ab7e3a90d4c8b4567';
const LONG = 'x'.repeat(10);
const TIMESTAMP = 'an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z';

interface Case {
  name: string;
  decorator: FieldDecorator;
  /** Values that are taken as they are, or pairs of a value and what it becomes. */
  accepted: unknown[];
  converted?: [sent: unknown, held: unknown][];
  refused: [shape: string, values: unknown[]][];
  described: object;
  store: SchemaDefinitionProperty;
}

/** Values of no kind but their own. */
const STRANGERS = [[], {}, [[]], { $ne: 1 }, () => 1, Symbol('x')];

const CASES: Case[] = [
  {
    name: 'IsText with bounds',
    decorator: IsText({ min: 2, max: 10, description: 'A word', example: 'word' }),
    accepted: ['ab', LONG, '🦊'.repeat(10), '  '],
    refused: [
      [
        'a string of 2 to 10 characters',
        ['', 'a', '🦊', `${LONG}x`, 12, true, 'a\ud800', new Date(), ...STRANGERS],
      ],
    ],
    described: {
      kind: 'text',
      schema: { type: 'string', minLength: 2, maxLength: 10, description: 'A word', example: 'word' },
    },
    store: { type: String, required: true },
  },
  {
    name: 'IsText that may be empty',
    decorator: IsText({ max: 10 }),
    accepted: ['', LONG],
    refused: [['a string of at most 10 characters', [`${LONG}x`, 1]]],
    described: { kind: 'text', schema: { type: 'string', maxLength: 10 } },
    // Mongoose's required refuses the empty string, which the field accepts.
    store: { type: String },
  },
  {
    name: 'IsText that does not count outer space',
    decorator: IsText({ min: 1, max: 3, countsOuterSpace: false, maxTotal: 8 }),
    accepted: ['a', ' abc ', '\t\nabc \u3000', 'a b'],
    refused: [
      ['a string of 1 to 3 characters, not counting white space around it', ['', '   ', 'abcd', ' abcd ', 3]],
      [
        'a string of at most 8 characters, counting white space around it',
        ['   abc   ', `a${' '.repeat(8)}`],
      ],
    ],
    described: {
      kind: 'text',
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: 8,
        pattern: '^\\s*\\S(?:[\\s\\S]{0,1}\\S)?\\s*$',
      },
    },
    store: { type: String, required: true },
  },
  {
    name: 'IsFlag',
    decorator: IsFlag(),
    accepted: [true, false],
    refused: [['true or false', ['true', 'false', 0, 1, '', ...STRANGERS]]],
    described: { kind: 'flag', schema: { type: 'boolean' } },
    store: { type: Boolean, required: true },
  },
  {
    name: 'IsWholeNumber with bounds',
    decorator: IsWholeNumber({ min: 0, max: 100_000, example: 5 }),
    accepted: [0, 100_000, 7, -0],
    refused: [
      ['a whole number from 0 to 100000', ['5', -1, 100_001, 1.5, NaN, Infinity, true, 5n, '', ...STRANGERS]],
    ],
    described: { kind: 'integer', schema: { type: 'integer', minimum: 0, maximum: 100_000, example: 5 } },
    store: { type: Number, required: true },
  },
  {
    name: 'IsWholeNumber of any size',
    decorator: IsWholeNumber(),
    accepted: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    refused: [['a whole number', [2 ** 53, -(2 ** 53), 0.1, '1']]],
    described: {
      kind: 'integer',
      schema: { type: 'integer', minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991 },
    },
    store: { type: Number, required: true },
  },
  {
    name: 'IsNumber',
    decorator: IsNumber({ min: -0.5 }),
    accepted: [-0.5, 0, 1e300, 5],
    refused: [['a number, at least -0.5', [-0.6, NaN, Infinity, '1', true, ...STRANGERS]]],
    described: { kind: 'number', schema: { type: 'number', minimum: -0.5 } },
    store: { type: Number, required: true },
  },
  {
    name: 'IsNumber with a maximum only',
    decorator: IsNumber({ max: 1 }),
    accepted: [1, -1e300],
    refused: [['a number, at most 1', [1.0001, '0']]],
    described: { kind: 'number', schema: { type: 'number', maximum: 1 } },
    store: { type: Number, required: true },
  },
  {
    name: 'IsDecimal',
    decorator: IsDecimal({ scale: 2, min: 0, max: '1000.50', example: '12.50' }),
    accepted: ['0', '12.5', '12.50', '1000.50', '1000.5', '0.00'],
    converted: [[Types.Decimal128.fromString('12.50'), '12.50']],
    refused: [
      [
        'a decimal string with at most 2 digits after the point from 0 to 1000.50, such as "12.50"',
        [
          '',
          '1000.51',
          '-1',
          '1.234',
          '.5',
          '1.',
          '01',
          '1e2',
          '1,5',
          '+1',
          ' 1',
          12.5,
          true,
          'NaN',
          ...STRANGERS,
        ],
      ],
    ],
    described: {
      kind: 'decimal',
      schema: {
        type: 'string',
        format: 'decimal',
        pattern: '^-?(0|[1-9]\\d*)(\\.\\d{1,2})?$',
        example: '12.50',
      },
    },
    store: { type: Schema.Types.Decimal128, required: true },
  },
  {
    name: 'IsDecimal without a fraction, of 34 digits at most',
    decorator: IsDecimal({ scale: 0 }),
    accepted: ['9'.repeat(34), `-${'9'.repeat(34)}`],
    refused: [
      ['an integer string, such as "12"', ['1.0', '9'.repeat(35), Types.Decimal128.fromString('1.5')]],
    ],
    described: {
      kind: 'decimal',
      schema: { type: 'string', format: 'decimal', pattern: '^-?(0|[1-9]\\d*)$' },
    },
    store: { type: Schema.Types.Decimal128, required: true },
  },
  {
    name: 'IsTimestamp',
    decorator: IsTimestamp(),
    accepted: [new Date(0)],
    converted: [
      ['2026-01-31T09:00:00+01:00', new Date('2026-01-31T08:00:00.000Z')],
      ['2026-01-31t09:00:00.5z', new Date('2026-01-31T09:00:00.500Z')],
    ],
    refused: [
      [
        TIMESTAMP,
        ['2026-01-31', '2026-02-30T00:00:00Z', '', 0, true, new Date(NaN), new Date(9e15), ...STRANGERS],
      ],
    ],
    described: { kind: 'timestamp', schema: { type: 'string', format: 'date-time' } },
    store: { type: Date, required: true },
  },
  {
    name: 'IsOneOf, of an enum of texts',
    decorator: IsOneOf(Colour),
    accepted: ['red', 'blue'],
    refused: [['one of "red", "blue"', ['Red', 'green', '', 0, ['red'], ...STRANGERS]]],
    described: { kind: 'enum', values: ['red', 'blue'], schema: { type: 'string', enum: ['red', 'blue'] } },
    store: { type: String, required: true },
  },
  {
    name: 'IsOneOf, of an enum of numbers',
    decorator: IsOneOf(Level),
    accepted: [0, 5],
    refused: [['one of 0, 5', ['Low', 'High', '0', 1]]],
    described: { kind: 'enum', values: [0, 5], schema: { type: 'integer', enum: [0, 5] } },
    store: { type: Number, required: true },
  },
  {
    name: 'IsOneOf, of an array of both',
    decorator: IsOneOf(['auto', 1.5, ''] as const),
    accepted: ['auto', 1.5, ''],
    refused: [['one of "auto", 1.5, ""', ['1.5', 'x']]],
    described: { kind: 'enum', values: ['auto', 1.5, ''], schema: { enum: ['auto', 1.5, ''] } },
    store: { type: Object },
  },
  {
    name: 'IsReference',
    decorator: IsReference(() => Tag),
    accepted: [ID, ID.toUpperCase()],
    converted: [[new Types.ObjectId(ID), ID]],
    refused: [
      [
        'an identifier of 24 hexadecimal digits',
        ['', ID.slice(1), `${ID}0`, 'g'.repeat(24), 'abcdefghijkl', 12, ...STRANGERS],
      ],
    ],
    described: {
      kind: 'identifier',
      reference: expect.any(Function),
      schema: { type: 'string', pattern: '^[0-9a-fA-F]{24}$' },
    },
    store: { type: Schema.Types.ObjectId, required: true },
  },
  {
    name: 'IsIdentifier',
    decorator: IsIdentifier(),
    accepted: [ID],
    converted: [[new Types.ObjectId(ID), ID]],
    refused: [['an identifier of 24 hexadecimal digits', ['x', 1]]],
    described: { kind: 'identifier', schema: { type: 'string', pattern: '^[0-9a-fA-F]{24}$' } },
    store: { type: Schema.Types.ObjectId, required: true },
  },
  {
    name: 'IsTextList',
    decorator: IsTextList({ maxEntries: 2, entry: { min: 1, max: 3 } }),
    accepted: [[], ['a'], ['a', 'abc']],
    refused: [
      [
        'an array of at most 2 entries, each a string of 1 to 3 characters',
        ['a', ['a', 'b', 'c'], [''], ['abcd'], [1], [null], [['a']], { 0: 'a', length: 1 }, {}],
      ],
    ],
    described: {
      kind: 'text',
      list: true,
      schema: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 3 }, maxItems: 2 },
    },
    store: { type: [String], required: true, default: undefined },
  },
  {
    name: 'IsListOf a single value',
    decorator: IsListOf(
      IsReference(() => Tag),
      { min: 1, max: 2 },
    ),
    accepted: [[ID], [ID, ID]],
    converted: [[[new Types.ObjectId(ID)], [ID]]],
    refused: [
      [
        'an array of 1 to 2 entries, each an identifier of 24 hexadecimal digits',
        [[], [ID, ID, ID], ID, [1], [null]],
      ],
    ],
    described: {
      kind: 'identifier',
      list: true,
      reference: expect.any(Function),
      schema: {
        type: 'array',
        items: { type: 'string', pattern: '^[0-9a-fA-F]{24}$' },
        minItems: 1,
        maxItems: 2,
      },
    },
    store: { type: [Schema.Types.ObjectId], required: true, default: undefined },
  },
  {
    name: 'IsNested',
    decorator: IsNested(() => Size, { description: 'How large' }),
    accepted: [],
    converted: [[{ width: 1 }, Object.assign(new Size(), { width: 1 })]],
    refused: [['an object', ['x', 1, [], [{ width: 1 }], new Date(), new Types.ObjectId(), true]]],
    described: {
      kind: 'nested',
      nested: Size,
      schema: {
        type: 'object',
        properties: { width: { type: 'integer', minimum: 1, maximum: 9_007_199_254_740_991 } },
        required: ['width'],
        additionalProperties: false,
        description: 'How large',
      },
    },
    store: { type: expect.any(Schema), required: true } as never,
  },
  {
    name: 'IsListOf a class',
    decorator: IsListOf(() => Size, { max: 2 }),
    accepted: [[]],
    converted: [[[{ width: 1 }], [Object.assign(new Size(), { width: 1 })]]],
    refused: [
      [
        'an array of at most 2 entries, each an object',
        [{}, 'x', ['x'], [null], [[]], [{ width: 1 }, 1], [{}, {}, {}]],
      ],
    ],
    described: {
      kind: 'nested',
      list: true,
      nested: Size,
      schema: {
        type: 'array',
        items: {
          type: 'object',
          properties: { width: { type: 'integer', minimum: 1, maximum: 9_007_199_254_740_991 } },
          required: ['width'],
          additionalProperties: false,
        },
        maxItems: 2,
      },
    },
    store: { type: [expect.any(Schema)], required: true, default: undefined } as never,
  },
];

/** A class with the one field "value". */
function classWith(...decorators: PropertyDecorator[]): Type<{ value: unknown }> {
  class Input {
    value!: unknown;
  }
  for (const decorate of decorators.reverse()) decorate(Input.prototype, 'value');
  return Input;
}

async function faultsOf(reading: Promise<unknown>): Promise<readonly Violation[] | 'none'> {
  try {
    await reading;
    return 'none';
  } catch (error) {
    if (error instanceof ValidationError) return error.errors;
    throw error;
  }
}

describe.each(CASES)('$name', ({ decorator, accepted, converted = [], refused, described, store }) => {
  const reader = new InputReader(classWith(decorator));
  const values = [...accepted.map((value): [unknown, unknown] => [value, value]), ...converted];

  it('takes what fits, in a create and in an update', async () => {
    for (const [sent, held] of values) {
      expect((await reader.read({ value: sent })).value).toStrictEqual(held);
      expect((await reader.readPatch({ value: sent })).value).toEqual(held);
    }
  });

  it('refuses everything else in one sentence, in a create and in an update', async () => {
    for (const [shape, wrong] of refused) {
      for (const value of wrong) {
        const faults = [{ pointer: '/value', detail: `"value" must be ${shape}.` }];
        expect({ value, faults: await faultsOf(reader.read({ value })) }).toEqual({ value, faults });
        expect({ value, faults: await faultsOf(reader.readPatch({ value })) }).toEqual({ value, faults });
      }
    }
  });

  it('describes itself', () => {
    const [field] = fieldsOf(classWith(decorator));
    expect(field).toEqual({ name: 'value', required: true, list: false, ...described, store });
  });
});

describe('options of every field decorator', () => {
  it('optional: the field may be left out, and the store does not ask for it', async () => {
    for (const decorator of [
      IsText({ min: 1, max: 5, optional: true }),
      IsFlag({ optional: true }),
      IsWholeNumber({ optional: true }),
      IsNumber({ optional: true }),
      IsDecimal({ scale: 2, optional: true }),
      IsTimestamp({ optional: true }),
      IsOneOf(Colour, { optional: true }),
      IsReference(() => Tag, { optional: true }),
      IsNested(() => Size, { optional: true }),
      IsListOf(() => Size, { max: 1, optional: true }),
      IsTextList({ maxEntries: 1, entry: { max: 1 }, optional: true }),
    ]) {
      const input = classWith(decorator);
      expect(await new InputReader(input).read({})).toEqual({});
      const [field] = fieldsOf(input);
      expect(field?.required).toBe(false);
      expect(field?.store).not.toHaveProperty('required');
    }
  });

  it('required: leaving the field out is refused with the sentence of the field', async () => {
    const reader = new InputReader(classWith(IsWholeNumber({ min: 1, max: 5 })));
    expect(await faultsOf(reader.read({}))).toEqual([
      { pointer: '/value', detail: '"value" must be a whole number from 1 to 5.' },
    ]);
    expect(await reader.readPatch({})).toEqual({});
  });

  it('default: makes the field optional, is documented, and is the store to set', async () => {
    const input = classWith(IsOneOf(Colour, { default: 'red' }));
    expect(await new InputReader(input).read({})).toEqual({});
    expect(fieldsOf(input)).toEqual([
      {
        name: 'value',
        required: false,
        kind: 'enum',
        list: false,
        values: ['red', 'blue'],
        default: 'red',
        schema: { type: 'string', enum: ['red', 'blue'], default: 'red' },
        store: { type: String, default: 'red' },
      },
    ]);
  });

  it('a default moment is documented as JSON has it, and one that a function makes is not', () => {
    const moment = new Date('2026-01-31T09:00:00.000Z');
    const now = () => moment;
    const [fixed] = fieldsOf(classWith(IsTimestamp({ default: moment })));
    expect(fixed?.schema).toEqual({
      type: 'string',
      format: 'date-time',
      default: '2026-01-31T09:00:00.000Z',
    });
    expect(fixed?.store).toEqual({ type: Date, default: moment });
    const [made] = fieldsOf(classWith(IsTimestamp({ default: now })));
    expect(made?.schema).toEqual({ type: 'string', format: 'date-time' });
    expect(made?.store).toEqual({ type: Date, default: now });
  });
});
