import { Schema, Types } from 'mongoose';
import {
  fieldsOf,
  InputReader,
  IsDecimal,
  IsFlag,
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
import { definitionOf } from '../../src/common/fields/store-of.js';
import { classWith, describeField, type FieldCase } from '../support/field-case.js';
import { faultsOf } from '../support/faults.js';

enum Colour {
  Red = 'red',
  Blue = 'blue',
}

class Tag {}

class Size {
  @IsWholeNumber({ min: 1 }) width!: number;
}

const ID = '665f1c2ab7e3a90d4c8b4567';
const CASES: FieldCase[] = [
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
      schema: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 3 },
        maxItems: 2,
        example: ['new'],
      },
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
        items: { type: 'string', pattern: '^[0-9a-fA-F]{24}$', example: '665f1c2ab7e3a90d4c8b4567' },
        minItems: 1,
        maxItems: 2,
      },
    },
    store: { type: [Schema.Types.ObjectId], required: true, default: undefined },
  },
  {
    name: 'IsListOf distinct values',
    decorator: IsListOf(IsOneOf(Colour), { min: 1, max: 2, unique: true }),
    accepted: [['red'], ['red', 'blue'], ['blue', 'red']],
    refused: [
      [
        'an array of 1 to 2 distinct entries, each one of "red", "blue"',
        [[], ['red', 'red'], ['blue', 'blue'], ['green'], 'red', [null], ['red', 'blue', 'red']],
      ],
    ],
    described: {
      kind: 'enum',
      list: true,
      values: ['red', 'blue'],
      schema: {
        type: 'array',
        items: { type: 'string', enum: ['red', 'blue'] },
        minItems: 1,
        maxItems: 2,
        uniqueItems: true,
      },
    },
    store: { type: [String], required: true, default: undefined },
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

CASES.forEach(describeField);

describe('options of every field decorator', () => {
  it('optional: the field may be omitted, and the store does not require it', async () => {
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
      expect(definitionOf(input).value).not.toHaveProperty('required');
    }
  });

  it('required: leaving the field out is refused with the sentence of the field', async () => {
    const reader = new InputReader(classWith(IsWholeNumber({ min: 1, max: 5 })));
    expect(await faultsOf(reader.read({}))).toEqual([
      { pointer: '/value', detail: '"value" must be a whole number from 1 to 5.' },
    ]);
    expect(await reader.readPatch({})).toEqual({});
  });

  it('default: makes the field optional, is documented, and is set by the store', async () => {
    const input = classWith(IsOneOf(Colour, { default: 'red' }));
    expect(await new InputReader(input).read({})).toEqual({});
    expect(fieldsOf(input)).toEqual([
      {
        name: 'value',
        required: false,
        kind: 'enum',
        list: false,
        isDeclared: true,
        values: ['red', 'blue'],
        default: 'red',
        schema: { type: 'string', enum: ['red', 'blue'], default: 'red' },
      },
    ]);
    expect(definitionOf(input).value).toEqual({ type: String, default: 'red' });
  });

  it('a default moment is documented as JSON has it, and one that a function makes is not', () => {
    const moment = new Date('2026-01-31T09:00:00.000Z');
    const now = () => moment;
    const atMoment = classWith(IsTimestamp({ default: moment }));
    expect(fieldsOf(atMoment)[0]?.schema).toEqual({
      type: 'string',
      format: 'date-time',
      default: '2026-01-31T09:00:00.000Z',
    });
    expect(definitionOf(atMoment).value).toEqual({ type: Date, default: moment });
    const made = classWith(IsTimestamp({ default: now }));
    expect(fieldsOf(made)[0]?.schema).toEqual({ type: 'string', format: 'date-time' });
    expect(definitionOf(made).value).toEqual({ type: Date, default: now });
  });

  it('IsListOf can have distinct entries: identifiers in either case, objects by their members', async () => {
    const twice = {
      pointer: '/value',
      detail: expect.stringContaining('an array of at most 2 distinct entries'),
    };
    const references = new InputReader(
      classWith(
        IsListOf(
          IsReference(() => Tag),
          { max: 2, unique: true },
        ),
      ),
    );
    expect(await faultsOf(references.read({ value: [ID, ID.toUpperCase()] }))).toEqual([twice]);
    const sizes = new InputReader(classWith(IsListOf(() => Size, { max: 2, unique: true })));
    expect(await faultsOf(sizes.read({ value: [{ width: 1 }, { width: 1 }] }))).toEqual([twice]);
    expect(await sizes.read({ value: [{ width: 1 }, { width: 2 }] })).toEqual({
      value: [{ width: 1 }, { width: 2 }],
    });
  });

  it('IsListOf refuses the decorator of a list', () => {
    const inner = IsTextList({ maxEntries: 1, entry: { max: 1 } });
    expect(() => IsListOf(inner, { max: 1 })).toThrow(
      'IsListOf takes a class or the decorator of a single value, not of a list.',
    );
  });
});
