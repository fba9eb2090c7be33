import { PartialType } from '@nestjs/swagger';
import { IsInt } from 'class-validator';
import { Types } from 'mongoose';
import * as f from '../../src/common/fields/index.js';
import { expectFaults, fault } from '../support/faults.js';

const MEASURED = '2026-01-31T09:00:00Z';

class Dimensions {
  @f.IsWholeNumber({ min: 1 }) width!: number;
  @f.IsWholeNumber({ min: 1, optional: true }) depth?: number;
  @f.IsTimestamp({ optional: true }) measured?: Date;
}

class Variant {
  @f.IsText({ min: 1, max: 5 }) sku!: string;
  @f.IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
}

class Product {
  @f.IsText({ min: 1, max: 20 }) name!: string;
  @f.IsWholeNumber({ min: 0, optional: true }) stock?: number;
  @f.IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
  @f.IsListOf(() => Variant, { max: 3, optional: true }) variants?: Variant[];
}

const products = new f.InputReader(Product);
const make = <T extends object>(type: new () => T, values: Partial<T>): T =>
  Object.assign(Object.create(type.prototype as object) as T, values);

const stranger = (pointer: string, allowed = 'name, stock, dimensions, variants') =>
  fault(pointer, `is not an input field. Allowed: ${allowed}.`);
const strangerInDimensions = (pointer: string) => stranger(pointer, 'width, depth, measured');
const noNull = (pointer: string) => fault(pointer, 'must not be null. Leave the field out instead.');
const required = (pointer: string) => fault(pointer, 'is required and cannot be removed with null.');
const tooSmall = (pointer: string, min = 1) => fault(pointer, `must be a whole number, at least ${min}.`);
const noSku = (pointer: string) => fault(pointer, 'must be a string of 1 to 5 characters.');

describe('read', () => {
  it('returns an instance of the class and of its nested classes, with the sent fields only, and leaves the body', async () => {
    const dimensions = { width: 5, measured: MEASURED };
    const variants = [{ sku: 'A', dimensions: { width: 1 } }, { sku: 'B' }];
    const body = { name: 'Chair', dimensions, variants };
    const before = structuredClone(body);
    const product = await products.read(body);
    expect(body).toEqual(before);
    expect(product).toStrictEqual(
      make(Product, {
        name: 'Chair',
        dimensions: make(Dimensions, { width: 5, measured: new Date(MEASURED) }),
        variants: [
          make(Variant, { sku: 'A', dimensions: make(Dimensions, { width: 1 }) }),
          make(Variant, { sku: 'B' }),
        ],
      }),
    );
    expect(Object.keys(product)).toEqual(['name', 'dimensions', 'variants']);
  });

  it.each([
    ...[undefined, null, [], [{ name: 'x' }], 'text', 7, true, new Date(), new Types.ObjectId(), new Map()],
  ])('refuses a body that is not an object: %p', async (body) => {
    const problem = { pointer: '', detail: 'The body must be a JSON object.' };
    await expectFaults(products.read(body), problem);
    await expectFaults(products.readPatch(body), problem);
  });

  it('names what is unknown, null or wrong at every level, with its pointer, all at once', async () => {
    const dimensions = { width: 0, depth: null, height: 1 };
    const variants = [{ sku: 'A' }, { sku: 'toolong', dimensions: { 'a/b~c': 1 } }, {}];
    await expectFaults(
      products.read({ colour: 'red', name: null, stock: '5', dimensions, variants }),
      stranger('/colour'),
      noNull('/name'),
      noNull('/dimensions/depth'),
      strangerInDimensions('/dimensions/height'),
      strangerInDimensions('/variants/1/dimensions/a~1b~0c'),
      tooSmall('/stock', 0),
      tooSmall('/dimensions/width'),
      noSku('/variants/1/sku'),
      tooSmall('/variants/1/dimensions/width'),
      noSku('/variants/2/sku'),
    );
  });

  it('shortens what it repeats of a body', async () => {
    await expectFaults(
      products.read({ name: 'x', ['n'.repeat(9_999)]: 1 }),
      stranger(`/${'n'.repeat(100)}…`),
    );
  });

  it('treats undefined as omitted', async () => {
    expect(await products.read({ name: 'x', stock: undefined, colour: undefined })).toEqual({ name: 'x' });
    expect(Object.keys(await products.readPatch({ stock: undefined }))).toEqual([]);
  });
});

describe('readPatch', () => {
  it('returns the sent fields in plain objects: nulls kept, values converted, lists whole', async () => {
    const dimensions = { depth: null, measured: MEASURED };
    expect(await products.readPatch({ stock: null, dimensions, variants: [{ sku: 'A' }] })).toStrictEqual({
      stock: null,
      dimensions: { depth: null, measured: new Date(MEASURED) },
      variants: [make(Variant, { sku: 'A' })],
    });
    expect(await products.readPatch({ dimensions: {} })).toStrictEqual({ dimensions: {} });
    expect(await products.readPatch({})).toStrictEqual({});
  });

  it('refuses null for required fields at every level, and anywhere in a list', async () => {
    const variants = [{ sku: 'A', dimensions: null }, { sku: null }];
    await expectFaults(
      products.readPatch({ name: null, dimensions: { width: null }, variants }),
      required('/name'),
      required('/dimensions/width'),
      noNull('/variants/0/dimensions'),
      noNull('/variants/1/sku'),
    );
  });

  it('requires whole entries in lists, and checks the sent parts of nested objects', async () => {
    await expectFaults(
      products.readPatch({ unknown: null, dimensions: { depth: 0, height: null }, variants: [{}] }),
      stranger('/unknown'),
      strangerInDimensions('/dimensions/height'),
      tooSmall('/dimensions/depth'),
      noSku('/variants/0/sku'),
    );
  });
});

describe('initialisers of the class', () => {
  let made = 0;

  class Settings {
    @f.IsText({ max: 5 }) unit = 'cm';
  }

  class Counter {
    @IsInt() counter: number = 7;
    @f.IsNested(() => Settings, { optional: true }) settings?: Settings;
    @f.IsNested(() => Settings, { optional: true }) filled?: Settings = new Settings();
    helper = (made += 1);
  }

  const counters = new f.InputReader(Counter);

  it('fill in fields that a create and its nested objects omit, but never undeclared ones', async () => {
    const settings = new Settings();
    expect(await counters.read({})).toStrictEqual(make(Counter, { counter: 7, filled: settings }));
    const read = await counters.read({ counter: 9, settings: {} });
    expect(read).toStrictEqual(make(Counter, { counter: 9, settings, filled: settings }));
  });

  it('never run for a patch', async () => {
    const before = made;
    expect(await counters.readPatch({})).toStrictEqual({});
    expect(await counters.readPatch({ settings: {} })).toStrictEqual({ settings: {} });
    expect(await new f.InputReader(PartialType(Counter)).readPatch({})).toStrictEqual({});
    expect(made).toBe(before);
  });
});

describe('check', () => {
  it('holds merged nested values to the rules of complete ones', async () => {
    await products.check({ dimensions: { width: 1 } });
    await products.check({});
    const merged = { dimensions: { depth: 2 } as Dimensions };
    await expectFaults(products.check(merged), tooSmall('/dimensions/width'));
  });

  it('accepts stored values: identifiers, decimals, dates, null, and members that are not input', async () => {
    class Line {
      @f.IsReference(() => Product) product!: string;
      @f.IsDecimal({ scale: 2 }) price!: string;
      @f.IsTimestamp() at!: Date;
      @f.IsText({ max: 5, optional: true }) note?: string;
    }
    class Order {
      @f.IsNested(() => Line) line!: Line;
      @f.IsFlag() paid!: boolean;
    }
    const [_id, product] = [new Types.ObjectId(), new Types.ObjectId()];
    const line = { _id, product, price: Types.Decimal128.fromString('1.50'), at: new Date(), note: null };
    await new f.InputReader(Order).check({ line: line as never });
  });
});

it('extras are unknown to clients, and pass through unchanged for code', async () => {
  const reader = new f.InputReader(Product, ['tenant', 'secret']);
  const tenant = new Types.ObjectId();
  await expectFaults(reader.read({ name: 'x', tenant }), stranger('/tenant'));
  const product = await reader.read({ name: 'x', tenant, secret: null }, { extras: true });
  expect(product).toEqual({ name: 'x', tenant, secret: null });
  expect(await reader.readPatch({ tenant }, { extras: true })).toEqual({ tenant });
  const inside = reader.read({ name: 'x', dimensions: { width: 1, tenant } }, { extras: true });
  await expectFaults(inside, strangerInDimensions('/dimensions/tenant'));
  expect(reader.fields.map(({ name }) => name)).toEqual(['name', 'stock', 'dimensions', 'variants']);
});
