import { Transform, Type } from 'class-transformer';
import * as v from 'class-validator';
import { Types } from 'mongoose';
import { InputReader } from '../../src/common/fields/index.js';
import { expectFaults, fault } from '../support/faults.js';

const DATE = fault(
  '/date',
  'must be an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z.',
);

describe('plain decorators of class-validator', () => {
  it('report the type before the bounds, whatever their order', async () => {
    class Stocked {
      @v.Max(100_000) @v.IsInt() @v.Min(0) stock!: number;
      @v.IsInt() @v.Max(5) other!: number;
      @v.MaxLength(5) @v.IsEmail() @v.IsString() email!: string;
    }
    const reader = new InputReader(Stocked);
    await expectFaults(
      reader.read({ stock: '5', other: [1], email: 7 }),
      fault('/stock', 'must be a whole number.'),
      fault('/other', 'must be a whole number.'),
      fault('/email', 'must be a string.'),
    );
    await expectFaults(
      reader.read({ stock: -1, other: 6, email: 'x' }),
      { pointer: '/stock', detail: 'stock must not be less than 0' },
      { pointer: '/other', detail: 'other must not be greater than 5' },
      { pointer: '/email', detail: 'email must be an email' },
    );
  });

  it('@Type() builds nested objects and reads dates, and coerces nothing', async () => {
    class Part {
      @v.IsString() name!: string;
    }
    class Typed {
      @v.IsOptional() @v.IsInt() @Type(() => Number) number?: number;
      @v.IsOptional() @v.IsString() @Type(() => String) text?: string;
      @v.IsOptional() @Type(() => Boolean) flag?: boolean;
      @v.IsOptional() @v.IsDate() @Type(() => Date) date?: Date;
      @v.IsOptional() @v.ValidateNested() @Type(() => Part) part?: Part;
      @v.IsOptional() @v.IsArray() @v.ValidateNested({ each: true }) @Type(() => Part) parts?: Part[];
    }
    const reader = new InputReader(Typed);
    const date = '2026-01-31T09:00:00Z';
    const typed = await reader.read({ date, part: { name: 'a' }, parts: [{ name: 'b' }] });
    expect(typed.date).toEqual(new Date(date));
    expect([typed.part, typed.parts?.[0]].every((part) => part instanceof Part)).toBe(true);
    const numbers = { number: '5', text: 5, flag: 'true' };
    await expectFaults(
      reader.read({ ...numbers, date: '2026-01-31', part: [{ name: 'a' }], parts: { name: 'b' } }),
      fault('/number', 'must be a whole number.'),
      fault('/text', 'must be a string.'),
      fault('/flag', 'must be true or false.'),
      DATE,
      fault('/part', 'must be an object.'),
      fault('/parts', 'must be an array.'),
    );
    await expectFaults(
      reader.read({ date: 1_798_718_400_000, part: { name: 1, more: 2 }, parts: [null] }),
      DATE,
      fault('/part/name', 'must be a string.'),
      fault('/part/more', 'is not an input field. Allowed: name.'),
      fault('/parts', 'must not hold null.'),
    );
  });

  it('@Transform() runs, and leaves to the validators what it cannot take', async () => {
    class Trimmed {
      @v.IsString() @Transform(({ value }: { value: string }) => value.trim()) name!: string;
      @v.IsOptional() @Transform(({ value }) => (value === '' ? null : value)) @v.IsString() note?: string;
    }
    const reader = new InputReader(Trimmed);
    expect(await reader.read({ name: '  a ', note: '' })).toEqual({ name: 'a' });
    expect(await reader.readPatch({ note: '' })).toEqual({ note: null });
    await expectFaults(reader.read({ name: 5 }), fault('/name', 'must be a string.'));
  });

  it('say of a value of another type what the author says', async () => {
    class Spoken {
      @v.IsInt({ message: '$property: whole numbers, not $value' }) @v.Min(1) count!: number;
      @v.IsString({ message: ({ property }) => `${property}: words` }) word!: string;
      @v.IsOptional() @v.IsDate({ message: 'when?' }) date?: Date;
    }
    const reader = new InputReader(Spoken);
    await expectFaults(
      reader.read({ count: 'two', word: { a: 1 }, date: 'today' }),
      { pointer: '/count', detail: 'count: whole numbers, not two' },
      { pointer: '/word', detail: 'word: words' },
      { pointer: '/date', detail: 'when?' },
    );
    const detail = 'count must not be less than 1';
    await expectFaults(reader.read({ count: 0, word: 'a' }), { pointer: '/count', detail });
  });

  it('validators of the author may be asynchronous, see values of the right type only, and may fail', async () => {
    const seen: unknown[] = [];
    const validate = async (value: string) => {
      seen.push(value.length);
      await Promise.resolve();
      if (value === 'broken') throw new Error('no connection');
      return value !== 'taken';
    };
    const defaultMessage = () => '"$property" is taken.';
    const IsFree = () =>
      v.ValidateBy({ name: 'isFree', async: true, validator: { validate, defaultMessage } });
    class Account {
      @IsFree() @v.IsString() name!: string;
      @v.IsOptional() @IsFree() alias?: string;
    }
    const reader = new InputReader(Account);
    expect(await reader.read({ name: 'free' })).toEqual({ name: 'free' });
    const taken = [fault('/name', 'is taken.'), fault('/alias', 'is taken.')];
    await expectFaults(reader.read({ name: 'taken', alias: 'taken' }), ...taken);
    seen.length = 0;
    const wrong = [fault('/name', 'must be a string.'), fault('/alias', 'must be a string.')];
    await expectFaults(reader.read({ name: 5, alias: { length: 1 } }), ...wrong);
    expect(seen).toEqual([]);
    await expect(reader.read({ name: 'broken' })).rejects.toThrow('no connection');
  });

  it('check a field whose condition depends on others: what is sent must be valid', async () => {
    class Customer {
      @v.IsOptional() @v.IsString() kind?: string;
      @v.ValidateIf((it: Customer) => it.kind === 'company') @v.IsString() @v.MaxLength(5) vat?: string;
    }
    const customers = new InputReader(Customer);
    expect(await customers.readPatch({ vat: 'DE1' })).toEqual({ vat: 'DE1' });
    expect(await customers.read({ kind: 'person' })).toEqual({ kind: 'person' });
    const vat = (detail: string) => ({ pointer: '/vat', detail });
    const tooLong = vat('vat must be shorter than or equal to 5 characters');
    await expectFaults(customers.readPatch({ vat: 'DE1234' }), tooLong);
    await expectFaults(customers.read({ kind: 'company' }), vat('vat must be a string'));
    await expectFaults(customers.read({ kind: 'person', vat: 5 }), vat('"vat" must be a string.'));
  });

  it('never store a text or number other than the one sent', async () => {
    class Loose {
      @v.IsOptional() @v.IsString() text?: string;
      @v.IsOptional() @v.IsString({ each: true }) texts?: string[];
      @v.IsOptional() @v.IsArray() things?: unknown[];
    }
    const things = ['\ud800', { a: Infinity, b: '\ud800' }];
    const malformed = 'must be well-formed Unicode, without lone surrogates.';
    await expectFaults(
      new InputReader(Loose).read({ text: 'a\ud800', texts: ['a', '\udc00'], things }),
      fault('/text', malformed),
      fault('/texts', malformed),
      fault('/things/0', malformed, 'things'),
      fault('/things/1/a', 'must not hold a number beyond the range of a double.', 'things'),
      fault('/things/1/b', malformed, 'things'),
    );
  });

  it('accept stored values in place of texts', async () => {
    class Meeting {
      @v.IsMongoId() room!: string;
      @v.IsDateString() at!: string;
    }
    class Holder {
      @v.ValidateNested() @Type(() => Meeting) meeting!: Meeting;
    }
    const reader = new InputReader(Holder);
    await reader.check({ meeting: { room: new Types.ObjectId(), at: new Date() } as never });
    const room = '665f1c2ab7e3a90d4c8b4567';
    const at = '2026-01-31T09:00:00.000Z';
    const read = await reader.read({ meeting: { room: new Types.ObjectId(room), at: new Date(at) } });
    expect(read).toEqual({ meeting: { room, at } });
  });
});
