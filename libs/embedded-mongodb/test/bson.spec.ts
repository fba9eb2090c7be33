import {
  Binary,
  BSONRegExp,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  serialize,
  Timestamp,
} from 'bson';
import { compareValues } from '../src/bson/compare.js';
import { decodeDocument, decodeField } from '../src/bson/decode.js';
import { encodeDocument } from '../src/bson/encode.js';
import type { BsonDocument, BsonValue } from '../src/bson/types.js';
import { messageLevels, readDocument } from '../src/bson/validate.js';
import { codeOf, doc } from './support/bson.js';

const everyType = {
  int: new Int32(1),
  double: new Double(1),
  long: Long.fromNumber(1),
  decimal: Decimal128.fromString('1.50'),
  string: 'a\u0000é😀',
  document: { '2': 1, '1': { __proto__x: null } },
  array: [1, [2], {}],
  binary: new Binary(Uint8Array.of(1, 2), 4),
  oldBinary: new Binary(Uint8Array.of(1, 2), 2),
  id: new ObjectId(),
  bool: true,
  date: new Date(-1),
  nothing: null,
  regex: new BSONRegExp('a', 'i'),
  timestamp: new Timestamp({ t: 1, i: 2 }),
  least: new MinKey(),
  greatest: new MaxKey(),
};

describe('decodeDocument and encodeDocument', () => {
  it('return the same bytes for every type', () => {
    const bytes = serialize(everyType);
    expect(Buffer.from(encodeDocument(decodeDocument(bytes)))).toEqual(Buffer.from(bytes));
  });

  it('keep the order of names that look like numbers', () => {
    const document = new Map<string, BsonValue>([
      ['2', null],
      ['1', null],
    ]);
    expect([...decodeDocument(encodeDocument(document)).keys()]).toEqual(['2', '1']);
  });

  it('find one field without the others', () => {
    expect(decodeField(serialize(everyType), 'bool')).toBe(true);
    expect(decodeField(serialize(everyType), 'absent')).toBeUndefined();
  });
});

describe('bytes from outside', () => {
  const read = (bytes: Uint8Array): BsonDocument => readDocument(Buffer.from(bytes));

  it('may nest up to the limit', () => {
    const nested = (depth: number): Record<string, unknown> => (depth === 1 ? {} : { a: nested(depth - 1) });
    expect(codeOf(() => read(serialize(nested(messageLevels))))).toBeUndefined();
    expect(codeOf(() => read(serialize(nested(messageLevels + 1))))).toBe(15);
  });

  it('are refused with every truncation, and read or refused with every flipped byte', () => {
    const bytes = serialize(everyType);
    for (let length = 0; length < bytes.length; length++) {
      expect(codeOf(() => read(bytes.subarray(0, length)))).toBe(22);
    }
    for (let at = 0; at < bytes.length; at++) {
      const broken = Uint8Array.from(bytes);
      broken[at] = (broken[at] as number) ^ 0xff;
      expect([undefined, 15, 22, 115]).toContain(codeOf(() => read(broken)));
    }
  });

  it('are refused if a string is not UTF-8', () => {
    const bytes = serialize({ a: 'xx' });
    bytes[bytes.indexOf('x'.charCodeAt(0))] = 0xff;
    expect(codeOf(() => read(bytes))).toBe(22);
  });

  it.each([0x06, 0x0c, 0x0e, 0x0f])('may not hold the deprecated type %d', (type) => {
    const bytes = Buffer.from(serialize({ a: '' }));
    bytes[4] = type;
    expect(codeOf(() => read(bytes))).toBe(115);
  });
});

describe('compareValues', () => {
  const ascending: BsonValue[] = [
    new MinKey(),
    null,
    new Double(NaN),
    new Double(-Infinity),
    new Int32(-1),
    new Double(0),
    Decimal128.fromString('0.1'),
    new Double(0.1),
    Long.fromString('9007199254740992'),
    Long.fromString('9007199254740993'),
    new Double(1e300),
    '',
    'a',
    'b',
    '\uffee',
    '😀',
    doc({}),
    doc({ a: 1 }),
    doc({ a: 1, b: 1 }),
    doc({ b: 0 }),
    doc({ a: 'x' }),
    [],
    [new Int32(1)],
    new Binary(Uint8Array.of(9), 0),
    new Binary(Uint8Array.of(1, 1), 0),
    new ObjectId('000000000000000000000000'),
    false,
    true,
    new Date(0),
    new Timestamp({ t: 1, i: 0 }),
    new BSONRegExp('a', ''),
    new MaxKey(),
  ];

  it.each(ascending.map((value, index) => [index, value] as const))(
    'puts number %d in its place',
    (index, value) => {
      ascending.forEach((other, position) => {
        expect(Math.sign(compareValues(value, other))).toBe(Math.sign(index - position));
      });
    },
  );

  it('treats equal numbers of different types as equal', () => {
    const ones = [new Int32(1), new Double(1), Long.fromNumber(1), Decimal128.fromString('1.00')];
    for (const a of ones) for (const b of ones) expect(compareValues(a, b)).toBe(0);
    expect(compareValues(new Double(-0), new Int32(0))).toBe(0);
  });
});
