import { Transform, Type } from 'class-transformer';
import * as v from 'class-validator';
import fc from 'fast-check';
import { Types } from 'mongoose';
import * as f from '../../src/common/fields/index.js';
import { expectFaults, fault, faultsOf } from '../support/faults.js';

enum Level {
  Low,
  High,
}

class Part {
  @f.IsText({ max: 5, optional: true }) name?: string;
  @f.IsNested(() => Part, { optional: true }) part?: Part;
}

class PlainPart {
  @v.IsOptional() @v.IsString() name?: string;
  @v.IsOptional() @v.ValidateNested({ each: true }) @Type(() => PlainPart) parts?: PlainPart[];
}

class Declared {
  @f.IsText({ max: 9, optional: true }) text?: string;
  @f.IsFlag({ optional: true }) flag?: boolean;
  @f.IsWholeNumber({ optional: true }) whole?: number;
  @f.IsNumber({ optional: true }) number?: number;
  @f.IsDecimal({ scale: 2, optional: true }) decimal?: string;
  @f.IsTimestamp({ optional: true }) moment?: Date;
  @f.IsOneOf(Level, { optional: true }) level?: Level;
  @f.IsReference(() => Part, { optional: true }) reference?: string;
  @f.IsListOf(f.IsText({ max: 5 }), { max: 2, optional: true }) texts?: string[];
  @f.IsListOf(f.IsWholeNumber(), { max: 2, optional: true }) numbers?: number[];
  @f.IsNested(() => Part, { optional: true }) part?: Part;
  @f.IsListOf(() => Part, { max: 2, optional: true }) parts?: Part[];
}

class Plain {
  @v.IsOptional() @v.IsString() @Type(() => String) text?: string;
  @v.IsOptional() @v.IsNotEmpty() bare?: string;
  @v.IsOptional() @v.MaxLength(5) long?: string;
  @v.IsOptional() @v.IsBoolean() @Type(() => Boolean) flag?: boolean;
  @v.IsOptional() @v.IsInt() @Type(() => Number) whole?: number;
  @v.IsOptional() @v.IsNumber() number?: number;
  @v.IsOptional() @v.Min(0) bounded?: number;
  @v.IsOptional() @v.IsDate() @Type(() => Date) moment?: Date;
  @v.IsOptional() @v.IsEnum(Level) level?: Level;
  @v.IsOptional() @v.IsIn(['a', 1]) either?: unknown;
  @v.IsOptional() @v.IsMongoId() reference?: string;
  @v.IsOptional() @v.IsString({ each: true }) texts?: string[];
  @v.IsOptional() @v.IsArray() @v.ArrayMaxSize(2) things?: unknown[];
  @v.IsOptional() @v.ValidateNested() @Type(() => PlainPart) part?: PlainPart;
  @v.IsOptional() @v.ValidateNested({ each: true }) @Type(() => PlainPart) parts?: PlainPart[];
  @v.Allow() @v.IsOptional() anything?: unknown;
  @v.IsOptional() @v.IsObject() open?: object;
  @v.IsOptional() @v.IsString() @Transform(({ value }: { value: string }) => value.trim()) trimmed?: string;
}

const READERS = { declared: new f.InputReader(Declared), plain: new f.InputReader(Plain) };

/** What a value of each kind is not, though JavaScript, class-transformer or Mongoose would make it one. */
const COERCIBLE: Record<string, unknown[]> = {
  text: [5, true, 5.5, ['a'], { toString: 'a' }],
  flag: ['true', 'false', 1, 0, 'yes', ''],
  whole: ['5', '5.0', true, [5], '', 5.5],
  number: ['5', true, [5], ''],
  bounded: ['5', [5], Infinity],
  moment: [
    ...[1_798_718_400_000, '1798718400000', '2026-01-31', 'Sat, 31 Jan 2026 09:00:00 GMT', true],
    ['2026-01-31T09:00:00Z'],
  ],
  level: ['0', 'Low', 'High', true, [0]],
  either: ['1', true, ['a']],
  reference: [123_456_789_012, 'abcdefghijkl', ['665f1c2ab7e3a90d4c8b4567']],
  texts: ['a', [5], [true], [['a']], { 0: 'a' }, [null]],
  bare: [5, true, ['a']],
  long: [5, ['a']],
  trimmed: [5, ['a']],
  part: ['{}', [], [{}], 5, true],
  parts: [{}, '[]', [[]], [[{}]], [null], ['{}'], { 0: {} }],
  things: ['a', { 0: 'a', length: 1 }, [null]],
  open: ['{}', 5, [5]],
};

const attempts = Object.entries(COERCIBLE).flatMap(([name, values]) =>
  values.map((value) => ({ name, value })),
);

it.each(attempts)('plain: "$name" is not made of $value', async ({ name, value }) => {
  const reader = READERS.plain;
  const pointer = expect.stringMatching(`^/${name}(/|$)`);
  for (const reading of [reader.read({ [name]: value }), reader.readPatch({ [name]: value })])
    expect(await faultsOf(reading)).toEqual([{ pointer, detail: expect.any(String) }]);
});

const HARMFUL = '__proto__ constructor prototype toString hasOwnProperty then _bsontype $where '.split(' ');

describe.each([
  ['declared', 'name, part'],
  ['plain', 'name, parts'],
] as const)('a class with %s fields', (form, nested) => {
  const reader = READERS[form];
  const own = reader.fields.map((field) => field.name).join(', ');

  it.each(HARMFUL)('a field named "%s" is unknown at every level', async (name) => {
    const unknown = (pointer: string, allowed: string) =>
      fault(`${pointer}/${name}`, `is not an input field. Allowed: ${allowed}.`);
    for (const [body, expected] of [
      [{ '@': { admin: true } }, unknown('', own)],
      [{ '@': null }, unknown('', own)],
      [{ part: { '@': 1 } }, unknown('/part', nested)],
      [{ parts: [{}, { '@': null }] }, unknown('/parts/1', nested)],
    ] as const) {
      const sent = JSON.parse(JSON.stringify(body).replaceAll('@', name)) as object;
      await expectFaults(reader.read(sent), expected);
      await expectFaults(reader.readPatch(sent), expected);
    }
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });
});

describe('values that no class declares', () => {
  const reader = READERS.plain;

  it('are kept as they are', async () => {
    const open = { a: [1, { b: 'c' }], d: { e: new Date(0) } };
    const body = { open, anything: open, things: [open, 5] };
    expect(await reader.read(body)).toEqual(structuredClone(body));
    expect(await reader.readPatch({ open: { a: null } })).toEqual({ open: { a: null } });
  });

  it('may not contain null except in a patch, or harmful names', async () => {
    const body = JSON.parse('{"open":{"a":{"__proto__":1},"b":null},"things":[{"constructor":1}]}') as object;
    const first = fault('/open/a/__proto__', 'cannot be the name of a field.');
    const last = fault('/things/0/constructor', 'cannot be the name of a field.');
    await expectFaults(reader.readPatch(body), first, last);
    const noNull = fault('/open/b', 'must not be null. Leave the field out instead.');
    await expectFaults(reader.read(body), first, noNull, last);
  });
});

it.each(['read', 'readPatch'] as const)(
  '%s looks at no more fields than it lists faults of',
  async (read) => {
    let seen = 0;
    const counted = { get: () => ++seen, enumerable: true };
    const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`field${i}`, counted]));
    const faults = await faultsOf(READERS.declared[read](Object.defineProperties({}, fields)));
    expect([faults.length, seen]).toEqual([50, 50]);
  },
);

it('a list of far too many entries is refused by its length and the faults of its first ones', async () => {
  const parts = Array.from({ length: 100_000 }, () => ({ unknown: 1 }));
  const faults = JSON.stringify(await faultsOf(READERS.declared.read({ parts })));
  expect(faults).toContain('"/parts/0/unknown"');
  expect(faults).not.toContain('"/parts/3/unknown"');
});

it('a body nested too deeply is refused, however deep', async () => {
  const line = (levels: number, name: string) =>
    JSON.parse(`${`{"${name}":`.repeat(levels)}{}${'}'.repeat(levels)}`) as object;
  await expectFaults(READERS.declared.read(line(20, 'part')));
  for (const levels of [40, 5_000]) {
    const tooDeep = 'is nested too deeply.';
    await expectFaults(READERS.declared.read(line(levels, 'part')), fault('/part'.repeat(33), tooDeep));
    const open = { open: line(levels, 'a') };
    await expectFaults(READERS.plain.read(open), fault(`/open${'/a'.repeat(32)}`, tooDeep, 'open'));
  }
});

const names = new Set([...f.fieldsOf(Declared), ...f.fieldsOf(Plain)].map(({ name }) => name));
const name = fc.constantFrom(...names, 'name', ...HARMFUL);
const body = fc.letrec((tie) => ({
  leaf: fc.oneof(
    ...[fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean()],
    fc.constantFrom<unknown>(
      ...[null, undefined, '5', 'true', '2026-01-31T09:00:00Z', '665f1c2ab7e3a90d4c8b4567'],
    ),
    fc.constantFrom<unknown>(new Date(0), new Date(NaN), new Types.ObjectId(), 5n, Symbol('x'), () => 1),
  ),
  node: fc.oneof(
    { maxDepth: 5 },
    { weight: 3, arbitrary: tie('leaf') },
    { weight: 1, arbitrary: fc.array(tie('node'), { maxLength: 3 }) },
    { weight: 3, arbitrary: tie('object') },
  ),
  object: fc
    .array(fc.tuple(fc.oneof({ weight: 9, arbitrary: name }, fc.string()), tie('node')), { maxLength: 6 })
    .map((entries) => Object.fromEntries(entries)),
})).object;

/** Names of a value's members that its class does not declare, at every level that has a class. */
function undeclared(value: unknown, type: new () => object): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => undeclared(entry, type));
  if (typeof value !== 'object' || value === null) return [];
  const fields = new Map(f.fieldsOf(type).map((field) => [field.name, field]));
  return Object.entries(value).flatMap(([name, member]) => {
    const field = fields.get(name);
    if (!field) return [name];
    return field.nested ? undeclared(member, field.nested as new () => object) : [];
  });
}

it.each([
  ['field decorators', Declared, READERS.declared],
  ['plain decorators', Plain, READERS.plain],
] as const)(
  'any body, read by %s, is refused with a ValidationError, or has only declared fields; an accepted value stays accepted',
  async (_name, type, reader) => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(body, async (sent) => {
        for (const read of [reader.read.bind(reader), reader.readPatch.bind(reader)]) {
          const faults = await faultsOf(read(sent));
          expect(faults.length).toBeLessThanOrEqual(50);
          for (const each of faults)
            expect(each).toEqual({ pointer: expect.any(String), detail: expect.stringMatching(/./) });
          if (faults.length > 0) continue;
          accepted += 1;
          const value = await read(sent);
          expect(undeclared(value, type)).toEqual([]);
          expect(await read(value)).toEqual(value);
        }
      }),
      { numRuns: 1_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  },
  120_000,
);
