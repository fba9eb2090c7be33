import { Schema, Types } from 'mongoose';
import * as f from '../../src/common/fields/index.js';
import { definitionOf } from '../../src/common/fields/store-of.js';
import { classWith, Colour, DATE, describeFields, ID, IDENTIFIER } from '../support/field-case.js';
import { expectFaults } from '../support/faults.js';

class Tag {}

class Size {
  @f.IsWholeNumber({ min: 1 }) width!: number;
}

const SIZE: f.JsonSchema = {
  type: 'object',
  properties: { width: { type: 'integer', minimum: 1, maximum: 9_007_199_254_740_991 } },
  required: ['width'],
  additionalProperties: false,
};
const made = Object.assign(new Size(), { width: 1 });
const isTag = f.IsReference(() => Tag);

describeFields({
  'IsListOf texts': {
    decorator: f.IsListOf(f.IsText({ min: 1, max: 3 }), { max: 2 }),
    accepted: [[], ['a'], ['a', 'abc']],
    refused: {
      'an array of at most 2 entries, each a string of 1 to 3 characters': [
        ...['a', ['a', 'b', 'c'], [''], ['abcd'], [1], [null], [['a']], { 0: 'a', length: 1 }, {}],
      ],
    },
    kind: 'string',
    list: true,
    schema: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 3 },
      maxItems: 2,
      example: ['new'],
    },
    store: { type: [String], required: true, default: undefined },
  },
  'IsListOf a single value': {
    decorator: f.IsListOf(isTag, { min: 1, max: 2 }),
    accepted: [[ID], [ID, ID]],
    converted: [[[new Types.ObjectId(ID)], [ID]]],
    refused: {
      'an array of 1 to 2 entries, each an identifier of 24 hexadecimal digits': [
        ...[[], [ID, ID, ID], ID, [1], [null]],
      ],
    },
    kind: 'identifier',
    list: true,
    reference: expect.any(Function),
    schema: { type: 'array', items: IDENTIFIER, minItems: 1, maxItems: 2 },
    store: { type: [Schema.Types.ObjectId], required: true, default: undefined },
  },
  'IsListOf distinct values': {
    decorator: f.IsListOf(f.IsOneOf(Colour), { min: 1, max: 2, unique: true }),
    accepted: [['red'], ['red', 'blue'], ['blue', 'red']],
    refused: {
      'an array of 1 to 2 distinct entries, each one of "red", "blue"': [
        ...[[], ['red', 'red'], ['blue', 'blue'], ['green'], 'red', [null], ['red', 'blue', 'red']],
      ],
    },
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
    store: { type: [String], required: true, default: undefined },
  },
  IsNested: {
    decorator: f.IsNested(() => Size, { description: 'How large' }),
    accepted: [],
    converted: [
      [{ width: 1 }, made],
      [made, made],
    ],
    refused: { 'an object': ['x', 1, [], [{ width: 1 }], new Date(), new Types.ObjectId(), true] },
    kind: 'nested',
    nested: Size,
    schema: { ...SIZE, description: 'How large' },
    store: { type: expect.any(Schema), required: true } as never,
  },
  'IsListOf a class': {
    decorator: f.IsListOf(() => Size, { max: 2 }),
    accepted: [[]],
    converted: [[[{ width: 1 }], [made]]],
    refused: {
      'an array of at most 2 entries, each an object': [
        ...[{}, 'x', ['x'], [null], [[]], [{ width: 1 }, 1], [{}, {}, {}]],
      ],
    },
    kind: 'nested',
    list: true,
    nested: Size,
    schema: { type: 'array', items: SIZE, maxItems: 2 },
    store: { type: [expect.any(Schema)], required: true, default: undefined } as never,
  },
});

describe('options of every field decorator', () => {
  it.each([
    f.IsText({ min: 1, max: 5, optional: true }),
    f.IsFlag({ optional: true }),
    f.IsWholeNumber({ optional: true }),
    f.IsNumber({ optional: true }),
    f.IsDecimal({ scale: 2, optional: true }),
    f.IsTimestamp({ optional: true }),
    f.IsOneOf(Colour, { optional: true }),
    f.IsReference(() => Tag, { optional: true }),
    f.IsNested(() => Size, { optional: true }),
    f.IsListOf(() => Size, { max: 1, optional: true }),
    f.IsListOf(f.IsText({ max: 1 }), { max: 1, optional: true }),
  ])('optional: the field may be omitted, and the store does not require it (%#)', async (decorator) => {
    const input = classWith(decorator);
    expect(await new f.InputReader(input).read({})).toEqual({});
    expect(f.fieldsOf(input)[0]?.required).toBe(false);
    expect(definitionOf(input).value).not.toHaveProperty('required');
  });

  const moment = new Date('2026-01-31T09:00:00.000Z');
  const now = () => moment;
  const dated = { ...DATE, default: '2026-01-31T09:00:00.000Z' };
  const values = ['red', 'blue'];
  const ofColour = { kind: 'enum', values, schema: { type: 'string', enum: values, default: 'red' } };
  const ofTime = (schema: f.JsonSchema) => ({ kind: 'timestamp', schema });
  it.each([
    ['is documented', String, 'red', f.IsOneOf(Colour, { default: 'red' }), ofColour],
    ['is documented as in JSON', Date, moment, f.IsTimestamp({ default: moment }), ofTime(dated)],
    ['is not documented if made', Date, now, f.IsTimestamp({ default: now }), ofTime(DATE)],
  ])(
    'default: makes it optional, set by the store, and %s',
    async (_title, type, preset, decorator, field) => {
      const input = classWith(decorator);
      expect(await new f.InputReader(input).read({})).toEqual({});
      const common = { name: 'value', required: false, declaration: expect.anything(), list: false };
      expect(f.fieldsOf(input)).toEqual([{ ...common, default: preset, ...field }]);
      expect(definitionOf(input).value).toEqual({ type, default: preset });
    },
  );

  it.each([
    ['identifiers in either case', isTag, [ID, ID.toUpperCase()], [ID, `${ID.slice(1)}0`]],
    ['objects by their members', () => Size, [{ width: 1 }, { width: 1 }], [{ width: 1 }, { width: 2 }]],
  ])('IsListOf can have distinct entries: %s', async (_title, entries, same, different) => {
    const reader = new f.InputReader(classWith(f.IsListOf(entries as never, { max: 2, unique: true })));
    const detail = expect.stringContaining('an array of at most 2 distinct entries');
    await expectFaults(reader.read({ value: same }), { pointer: '/value', detail });
    expect(await reader.read({ value: different })).toEqual({ value: different });
  });

  it('IsListOf refuses the decorator of a list', () => {
    const inner = f.IsListOf(f.IsText({ max: 1 }), { max: 1 });
    const message = 'IsListOf takes a class or the decorator of a single value, not of a list.';
    expect(() => f.IsListOf(inner, { max: 1 })).toThrow(message);
  });
});
