import { Transform, Type } from 'class-transformer';
import * as v from 'class-validator';
import fc from 'fast-check';
import { Types } from 'mongoose';
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
import { faultsOf } from '../support/faults.js';

enum Level {
  Low,
  High,
}

class Part {
  @IsText({ max: 5, optional: true }) name?: string;
  @IsNested(() => Part, { optional: true }) part?: Part;
}

class PlainPart {
  @v.IsOptional() @v.IsString() name?: string;

  @v.IsOptional()
  @v.ValidateNested({ each: true })
  @Type(() => PlainPart)
  parts?: PlainPart[];
}

class Declared {
  @IsText({ max: 9, optional: true }) text?: string;
  @IsFlag({ optional: true }) flag?: boolean;
  @IsWholeNumber({ optional: true }) whole?: number;
  @IsNumber({ optional: true }) number?: number;
  @IsDecimal({ scale: 2, optional: true }) decimal?: string;
  @IsTimestamp({ optional: true }) moment?: Date;
  @IsOneOf(Level, { optional: true }) level?: Level;
  @IsReference(() => Part, { optional: true }) reference?: string;
  @IsTextList({ maxEntries: 2, entry: { max: 5 }, optional: true }) texts?: string[];
  @IsListOf(IsWholeNumber(), { max: 2, optional: true }) numbers?: number[];
  @IsNested(() => Part, { optional: true }) part?: Part;
  @IsListOf(() => Part, { max: 2, optional: true }) parts?: Part[];
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

const READERS = { declared: new InputReader(Declared), plain: new InputReader(Plain) };

/** What a value of each kind is not, though JavaScript, class-transformer or Mongoose would make it one. */
const COERCIBLE: Record<string, unknown[]> = {
  text: [5, true, 5.5, ['a'], { toString: 'a' }],
  flag: ['true', 'false', 1, 0, 'yes', ''],
  whole: ['5', '5.0', true, [5], '', 5.5],
  number: ['5', true, [5], ''],
  bounded: ['5', [5], Infinity],
  decimal: [12.5, 12, true, ['12.5']],
  moment: [
    1_798_718_400_000,
    '1798718400000',
    '2026-01-31',
    'Sat, 31 Jan 2026 09:00:00 GMT',
    true,
    ['2026-01-31T09:00:00Z'],
  ],
  level: ['0', 'Low', 'High', true, [0]],
  either: ['1', true, ['a']],
  reference: [123_456_789_012, 'abcdefghijkl', ['665f1c2ab7e3a90d4c8b4567']],
  texts: ['a', [5], [true], [['a']], { 0: 'a' }, [null]],
  numbers: [5, ['5'], [true], '5'],
  bare: [5, true, ['a']],
  long: [5, ['a']],
  trimmed: [5, ['a']],
  part: ['{}', [], [{}], 5, true],
  parts: [{}, '[]', [[]], ['{}'], { 0: {} }],
  things: ['a', { 0: 'a', length: 1 }, [null]],
  open: ['{}', 5, [5]],
};

const attempts = Object.entries(READERS).flatMap(([form, reader]) =>
  reader.fields.flatMap(({ name }) =>
    (COERCIBLE[name] ?? []).map((value) => ({ form, reader, name, value })),
  ),
);

it.each(attempts)('$form: "$name" is not made of $value', async ({ reader, name, value }) => {
  for (const reading of [reader.read({ [name]: value }), reader.readPatch({ [name]: value })]) {
    const faults = (await faultsOf(reading)).map(
      (fault) => 'pointer' in fault && fault.pointer.split('/')[1],
    );
    expect(faults).toEqual([name]);
  }
});

const HARMFUL = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  '_bsontype',
  '$where',
  '',
];

it.each(HARMFUL)('a field named "%s" is unknown at every level', async (name) => {
  for (const [form, reader] of Object.entries(READERS)) {
    const body = (inside: object) => JSON.parse(JSON.stringify(inside).replaceAll('@', name)) as object;
    const fault = (pointer: string, allowed: string) => ({
      pointer,
      detail: `"${name}" is not an input field. Allowed: ${allowed}.`,
    });
    const own = reader.fields.map((field) => field.name).join(', ');
    const nested = form === 'declared' ? 'name, part' : 'name, parts';
    const cases: [object, ReturnType<typeof fault>][] = [
      [body({ '@': { admin: true } }), fault(`/${name}`, own)],
      [body({ '@': null }), fault(`/${name}`, own)],
      [body({ part: { '@': 1 } }), fault(`/part/${name}`, nested)],
      [body({ parts: [{}, { '@': null }] }), fault(`/parts/1/${name}`, nested)],
    ];
    for (const [sent, expected] of cases) {
      expect(await faultsOf(reader.read(sent))).toEqual([expected]);
      expect(await faultsOf(reader.readPatch(sent))).toEqual([expected]);
    }
  }
  expect(({} as Record<string, unknown>).admin).toBeUndefined();
});

describe('values that no class declares', () => {
  const reader = READERS.plain;

  it('are kept as they are', async () => {
    const open = { a: [1, { b: 'c' }], d: { e: new Date(0) } };
    expect(await reader.read({ open, anything: open, things: [open, 5] })).toEqual({
      open,
      anything: open,
      things: [open, 5],
    });
    expect(await reader.readPatch({ open: { a: null } })).toEqual({ open: { a: null } });
  });

  it('may not contain null except in a patch, or harmful names', async () => {
    const body = JSON.parse('{"open":{"a":{"__proto__":1},"b":null},"things":[{"constructor":1}]}') as object;
    const harmful = (pointer: string, name: string) => ({
      pointer,
      detail: `"${name}" cannot be the name of a field.`,
    });
    const faults = [
      harmful('/open/a/__proto__', '__proto__'),
      harmful('/things/0/constructor', 'constructor'),
    ];
    expect(await faultsOf(reader.readPatch(body))).toEqual(faults);
    const [first, last] = faults;
    expect(await faultsOf(reader.read(body))).toEqual([
      first,
      { pointer: '/open/b', detail: '"b" must not be null. Leave the field out instead.' },
      last,
    ]);
  });
});

it.each(['read', 'readPatch'] as const)(
  '%s looks at no more fields than it lists faults of',
  async (read) => {
    let seen = 0;
    const get = () => ++seen;
    const body = Object.defineProperties(
      {},
      Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`field${i}`, { get, enumerable: true }])),
    );
    const faults = await faultsOf(READERS.declared[read](body));
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
  expect(await faultsOf(READERS.declared.read(line(20, 'part')))).toEqual([]);
  for (const levels of [40, 5_000]) {
    const [fault] = await faultsOf(READERS.declared.read(line(levels, 'part')));
    expect(fault).toEqual({ pointer: '/part'.repeat(33), detail: '"part" is nested too deeply.' });
    expect(await faultsOf(READERS.plain.read({ open: line(levels, 'a') }))).toEqual([
      { pointer: `/open${'/a'.repeat(32)}`, detail: '"open" is nested too deeply.' },
    ]);
  }
});

const names = [
  ...new Set([...fieldsOf(Declared), ...fieldsOf(Plain)].map(({ name }) => name)),
  'name',
  ...HARMFUL,
];
const body = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom<unknown>(
      null,
      undefined,
      '5',
      'true',
      '2026-01-31T09:00:00Z',
      '665f1c2ab7e3a90d4c8b4567',
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
    .array(
      fc.tuple(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.string()), tie('node')),
      { maxLength: 6 },
    )
    .map((entries) => Object.fromEntries(entries)),
})).object;

/** Names of a value's members that its class does not declare, at every level that has a class. */
function undeclared(value: unknown, type: new () => object): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => undeclared(entry, type));
  if (typeof value !== 'object' || value === null) return [];
  const fields = new Map(fieldsOf(type).map((field) => [field.name, field]));
  return Object.entries(value).flatMap(([name, member]) => {
    const field = fields.get(name);
    if (!field) return [name];
    return field.nested ? undeclared(member, field.nested as new () => object) : [];
  });
}

describe.each([
  { name: 'field decorators', type: Declared, reader: READERS.declared },
  { name: 'plain decorators', type: Plain, reader: READERS.plain },
])('any body, read by $name', ({ type, reader }) => {
  it('is refused with a ValidationError, or has only declared fields; an accepted value stays accepted', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(body, async (sent) => {
        for (const read of [reader.read.bind(reader), reader.readPatch.bind(reader)]) {
          const faults = await faultsOf(read(sent));
          expect(faults.length).toBeLessThanOrEqual(50);
          for (const fault of faults)
            expect(fault).toEqual({ pointer: expect.any(String), detail: expect.stringMatching(/./) });
          if (faults.length > 0) continue;
          accepted += 1;
          const value = await read(sent);
          expect(undeclared(value, type)).toEqual([]);
          expect(await read(value)).toEqual(value);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  }, 120_000);
});
