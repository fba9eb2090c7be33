import { Schema, Types } from 'mongoose';
import * as f from '../../src/common/fields/index.js';
import { Colour, DATE, describeFields, ID, IDENTIFIER, Level, STRANGERS } from '../support/field-case.js';

class Tag {}

const LONG = 'x'.repeat(10);
const TIMESTAMP = 'an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z';

describeFields({
  'IsText with bounds': {
    decorator: f.IsText({ min: 2, max: 10, description: 'A word', example: 'word' }),
    accepted: ['ab', LONG, '🦊'.repeat(10), '  '],
    refused: {
      'a string of 2 to 10 characters': [
        ...['', 'a', '🦊', `${LONG}x`, 12, true, 'a\ud800', new Date(), ...STRANGERS],
      ],
    },
    kind: 'string',
    schema: { type: 'string', minLength: 2, maxLength: 10, description: 'A word', example: 'word' },
    store: { type: String, required: true },
  },
  'IsText that may be empty': {
    decorator: f.IsText({ max: 10 }),
    accepted: ['', LONG],
    refused: { 'a string of at most 10 characters': [`${LONG}x`, 1] },
    kind: 'string',
    schema: { type: 'string', maxLength: 10 },
    // Mongoose's required refuses the empty string, which the field accepts.
    store: { type: String },
  },
  'IsText that does not count outer space': {
    decorator: f.IsText({ min: 1, max: 3, countsOuterSpace: false, maxTotal: 8 }),
    accepted: ['a', ' abc ', '\t\nabc \u3000', 'a b'],
    refused: {
      'a string of 1 to 3 characters, not counting white space around it': ['', '   ', 'abcd', ' abcd ', 3],
      'a string of at most 8 characters, counting white space around it': ['   abc   ', `a${' '.repeat(8)}`],
    },
    kind: 'string',
    schema: { type: 'string', minLength: 1, maxLength: 8, pattern: '^\\s*\\S(?:[\\s\\S]{0,1}\\S)?\\s*$' },
    store: { type: String, required: true },
  },
  IsFlag: {
    decorator: f.IsFlag(),
    accepted: [true, false],
    refused: { 'true or false': ['true', 'false', 0, 1, '', ...STRANGERS] },
    kind: 'boolean',
    schema: { type: 'boolean' },
    store: { type: Boolean, required: true },
  },
  'IsWholeNumber with bounds': {
    decorator: f.IsWholeNumber({ min: 0, max: 100_000, example: 5 }),
    accepted: [0, 100_000, 7, -0],
    refused: {
      'a whole number from 0 to 100000': [
        ...['5', -1, 100_001, 1.5, NaN, Infinity, true, 5n, '', ...STRANGERS],
      ],
    },
    kind: 'integer',
    schema: { type: 'integer', minimum: 0, maximum: 100_000, example: 5 },
    store: { type: Number, required: true },
  },
  'IsWholeNumber of any size': {
    decorator: f.IsWholeNumber(),
    accepted: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    refused: { 'a whole number': [2 ** 53, -(2 ** 53), 0.1, '1'] },
    kind: 'integer',
    schema: { type: 'integer', minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991 },
    store: { type: Number, required: true },
  },
  IsNumber: {
    decorator: f.IsNumber({ min: -0.5 }),
    accepted: [-0.5, 0, 1e300, 5],
    refused: { 'a number, at least -0.5': [-0.6, NaN, Infinity, '1', true, ...STRANGERS] },
    kind: 'number',
    schema: { type: 'number', minimum: -0.5 },
    store: { type: Number, required: true },
  },
  'IsNumber with a maximum only': {
    decorator: f.IsNumber({ max: 1 }),
    accepted: [1, -1e300],
    refused: { 'a number, at most 1': [1.0001, '0'] },
    kind: 'number',
    schema: { type: 'number', maximum: 1 },
    store: { type: Number, required: true },
  },
  IsDecimal: {
    decorator: f.IsDecimal({ scale: 2, min: 0, max: '1000.50', example: '12.50' }),
    accepted: ['0', '12.5', '12.50', '1000.50', '1000.5', '0.00'],
    converted: [[Types.Decimal128.fromString('12.50'), '12.50']],
    refused: {
      'a decimal string with at most 2 digits after the point, from 0 to 1000.50, such as "12.50"': [
        ...['', '1000.51', '-1', '1.234', '.5', '1.', '01', '1e2', '1,5', '+1', ' 1', 'NaN'],
        ...[12.5, true, ...STRANGERS],
      ],
    },
    kind: 'decimal',
    schema: {
      type: 'string',
      format: 'decimal',
      pattern: '^-?(0|[1-9]\\d*)(\\.\\d{1,2})?$',
      example: '12.50',
    },
    store: { type: Schema.Types.Decimal128, required: true },
  },
  'IsDecimal without a fraction, of 34 digits at most': {
    decorator: f.IsDecimal({ scale: 0 }),
    accepted: ['9'.repeat(34), `-${'9'.repeat(34)}`],
    refused: {
      'an integer string, such as "12"': ['1.0', '9'.repeat(35), Types.Decimal128.fromString('1.5')],
    },
    kind: 'decimal',
    schema: { type: 'string', format: 'decimal', pattern: '^-?(0|[1-9]\\d*)$' },
    store: { type: Schema.Types.Decimal128, required: true },
  },
  IsTimestamp: {
    decorator: f.IsTimestamp(),
    accepted: [new Date(0)],
    converted: [
      ['2026-01-31T09:00:00+01:00', new Date('2026-01-31T08:00:00.000Z')],
      ['2026-01-31t09:00:00.5z', new Date('2026-01-31T09:00:00.500Z')],
    ],
    refused: {
      [TIMESTAMP]: [
        ...['2026-01-31', '2026-02-30T00:00:00Z', '', 0, true, new Date(NaN), new Date(9e15), ...STRANGERS],
      ],
    },
    kind: 'timestamp',
    schema: DATE,
    store: { type: Date, required: true },
  },
  'IsOneOf, of an enum of texts': {
    decorator: f.IsOneOf(Colour),
    accepted: ['red', 'blue'],
    refused: { 'one of "red", "blue"': ['Red', 'green', '', 0, ['red'], ...STRANGERS] },
    kind: 'enum',
    values: ['red', 'blue'],
    schema: { type: 'string', enum: ['red', 'blue'] },
    store: { type: String, required: true },
  },
  'IsOneOf, of an enum of numbers': {
    decorator: f.IsOneOf(Level),
    accepted: [0, 5],
    refused: { 'one of 0, 5': ['Low', 'High', '0', 1] },
    kind: 'enum',
    values: [0, 5],
    schema: { type: 'integer', enum: [0, 5] },
    store: { type: Number, required: true },
  },
  'IsOneOf, of an array of both': {
    decorator: f.IsOneOf(['auto', 1.5, ''] as const),
    accepted: ['auto', 1.5, ''],
    refused: { 'one of "auto", 1.5, ""': ['1.5', 'x'] },
    kind: 'enum',
    values: ['auto', 1.5, ''],
    schema: { enum: ['auto', 1.5, ''] },
    store: { type: Object },
  },
  IsReference: {
    decorator: f.IsReference(() => Tag),
    accepted: [ID, ID.toUpperCase()],
    converted: [[new Types.ObjectId(ID), ID]],
    refused: {
      'an identifier of 24 hexadecimal digits': [
        ...['', ID.slice(1), `${ID}0`, 'g'.repeat(24), 'abcdefghijkl', 12, ...STRANGERS],
      ],
    },
    kind: 'identifier',
    reference: expect.any(Function),
    schema: IDENTIFIER,
    store: { type: Schema.Types.ObjectId, required: true },
  },
  IsIdentifier: {
    decorator: f.IsIdentifier(),
    accepted: [ID],
    converted: [[new Types.ObjectId(ID), ID]],
    refused: { 'an identifier of 24 hexadecimal digits': ['x', 1] },
    kind: 'identifier',
    schema: IDENTIFIER,
    store: { type: Schema.Types.ObjectId, required: true },
  },
});
