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
  Timestamp,
} from 'bson';
import fc from 'fast-check';
import { compareValues } from '../src/bson/compare.js';
import type { BsonValue } from '../src/bson/types.js';
import { encodeKey } from '../src/bson/key.js';

const edges: BsonValue[] = [
  ...[0, -0, 1, -1, 0.1, 1.5, 2 ** 53, -(2 ** 53), 1e300, 5e-324, NaN, Infinity, -Infinity].map(
    (each) => new Double(each),
  ),
  ...[0, 1, -1, 2147483647, -2147483648].map((each) => new Int32(each)),
  ...['0', '1', '9007199254740993', '9223372036854775807', '-9223372036854775808'].map((each) =>
    Long.fromString(each),
  ),
  ...[
    '0',
    '-0',
    '0.1',
    '1',
    '1.50',
    '9999999999999999999999999999999999',
    '1E-6176',
    'NaN',
    'Infinity',
    '-Infinity',
  ].map((each) => Decimal128.fromString(each)),
  ...['', '\0', 'a', 'a\0', 'a\0b', 'b', '\uffee', '😀'],
  ...[
    null,
    true,
    false,
    new MinKey(),
    new MaxKey(),
    new Date(0),
    new Date(-1),
    new Date(8_640_000_000_000_000),
  ],
  ...[new ObjectId('000000000000000000000000'), new ObjectId('ffffffffffffffffffffffff')],
  ...[
    new Binary(Uint8Array.of(9), 0),
    new Binary(Uint8Array.of(1, 1), 0),
    new Binary(Uint8Array.of(1, 1), 4),
  ],
  ...[
    new Timestamp({ t: 1, i: 0 }),
    new Timestamp({ t: 4294967295, i: 1 }),
    new BSONRegExp('a', ''),
    new BSONRegExp('a', 'i'),
  ],
];

const scalar: fc.Arbitrary<BsonValue> = fc.oneof(
  fc.constantFrom(...edges),
  fc.double().map((each) => new Double(each)),
  fc.integer().map((each) => new Int32(each)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((each) => Long.fromBigInt(each)),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 33n), max: 10n ** 33n }), fc.integer({ min: -6176, max: 6111 }))
    .map(([digits, exponent]) => Decimal128.fromString(`${digits}E${exponent}`)),
  fc.string({ unit: 'binary' }),
);

const { value } = fc.letrec<{ value: BsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom('', 'a', 'ab', 'b', 'é'), tie('value')), { maxLength: 3 })
      .map((entries) => new Map(entries)),
  ),
}));

describe('encodeKey', () => {
  it('orders bytes as compareValues orders values', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const expected = Math.sign(compareValues(a, b));
        expect(Math.sign(encodeKey(a).compare(encodeKey(b)))).toBe(expected);
        expect(Math.sign(encodeKey(b, true).compare(encodeKey(a, true)))).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});
