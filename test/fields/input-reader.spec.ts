import { PartialType } from '@nestjs/swagger';
import { IsInt } from 'class-validator';
import { Types } from 'mongoose';
import {
  InputReader,
  IsDecimal,
  IsFlag,
  IsListOf,
  IsNested,
  IsReference,
  IsText,
  IsTimestamp,
  IsWholeNumber,
} from '../../src/common/fields/index.js';
import { faultsOf } from '../support/faults.js';

const ID = '665f1c2ab7e3a90d4c8b4567';

class Dimensions {
  @IsWholeNumber({ min: 1 }) width!: number;
  @IsWholeNumber({ min: 1, optional: true }) depth?: number;
  @IsTimestamp({ optional: true }) measured?: Date;
}

class Variant {
  @IsText({ min: 1, max: 5 }) sku!: string;
  @IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
}

class Product {
  @IsText({ min: 1, max: 20 }) name!: string;
  @IsWholeNumber({ min: 0, optional: true }) stock?: number;
  @IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
  @IsListOf(() => Variant, { max: 3, optional: true }) variants?: Variant[];
}

const products = new InputReader(Product);
const make = <T extends object>(type: new () => T, values: Partial<T>): T =>
  Object.assign(new type(), values);

describe('read', () => {
  it('returns an instance of the class and of its nested classes, with the sent fields only', async () => {
    const product = await products.read({
      name: 'Chair',
      dimensions: { width: 5, measured: '2026-01-31T09:00:00Z' },
      variants: [{ sku: 'A', dimensions: { width: 1 } }, { sku: 'B' }],
    });
    expect(product).toBeInstanceOf(Product);
    expect(product.dimensions).toBeInstanceOf(Dimensions);
    expect(product.variants?.[0]).toBeInstanceOf(Variant);
    expect(product).toEqual(
      make(Product, {
        name: 'Chair',
        dimensions: make(Dimensions, { width: 5, measured: new Date('2026-01-31T09:00:00Z') }),
        variants: [
          make(Variant, { sku: 'A', dimensions: make(Dimensions, { width: 1 }) }),
          make(Variant, { sku: 'B' }),
        ],
      }),
    );
    expect(Object.keys(product)).toEqual(['name', 'dimensions', 'variants']);
  });

  it.each([
    undefined,
    null,
    [],
    [{ name: 'x' }],
    'text',
    7,
    true,
    new Date(),
    new Types.ObjectId(),
    new Map(),
  ])('refuses a body that is not an object: %p', async (body) => {
    const faults = [{ pointer: '', detail: 'The body must be a JSON object.' }];
    expect(await faultsOf(products.read(body))).toEqual(faults);
    expect(await faultsOf(products.readPatch(body))).toEqual(faults);
  });

  it('names what is unknown, null or wrong at every level, with its pointer, all at once', async () => {
    const body = {
      colour: 'red',
      name: null,
      stock: '5',
      dimensions: { width: 0, depth: null, height: 1 },
      variants: [{ sku: 'A' }, { sku: 'toolong', dimensions: { 'a/b~c': 1 } }, {}],
    };
    expect(await faultsOf(products.read(body))).toEqual([
      {
        pointer: '/colour',
        detail: '"colour" is not an input field. Allowed: name, stock, dimensions, variants.',
      },
      { pointer: '/name', detail: '"name" must not be null. Leave the field out instead.' },
      { pointer: '/dimensions/depth', detail: '"depth" must not be null. Leave the field out instead.' },
      {
        pointer: '/dimensions/height',
        detail: '"height" is not an input field. Allowed: width, depth, measured.',
      },
      {
        pointer: '/variants/1/dimensions/a~1b~0c',
        detail: '"a/b~c" is not an input field. Allowed: width, depth, measured.',
      },
      { pointer: '/stock', detail: '"stock" must be a whole number, at least 0.' },
      { pointer: '/dimensions/width', detail: '"width" must be a whole number, at least 1.' },
      { pointer: '/variants/1/sku', detail: '"sku" must be a string of 1 to 5 characters.' },
      { pointer: '/variants/1/dimensions/width', detail: '"width" must be a whole number, at least 1.' },
      { pointer: '/variants/2/sku', detail: '"sku" must be a string of 1 to 5 characters.' },
    ]);
  });

  it('lists at most 50 faults, and shortens what it repeats', async () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, 1]));
    expect(await faultsOf(products.read(many))).toHaveLength(50);
    const [fault] = await faultsOf(products.read({ name: 'x', ['n'.repeat(9_999)]: 1 }));
    const shown = `${'n'.repeat(100)}…`;
    expect(fault).toEqual({
      pointer: `/${shown}`,
      detail: `"${shown}" is not an input field. Allowed: name, stock, dimensions, variants.`,
    });
  });

  it('treats undefined as omitted', async () => {
    expect(await products.read({ name: 'x', stock: undefined, colour: undefined })).toEqual({ name: 'x' });
    expect(Object.keys(await products.readPatch({ stock: undefined }))).toEqual([]);
  });

  it('accepts the values of code: dates, identifiers, decimals and instances', async () => {
    class Order {
      @IsTimestamp() at!: Date;
      @IsReference(() => Product) product!: string;
      @IsDecimal({ scale: 2 }) price!: string;
      @IsNested(() => Dimensions) dimensions!: Dimensions;
    }
    const at = new Date();
    const order = await new InputReader(Order).read({
      at,
      product: new Types.ObjectId(ID),
      price: Types.Decimal128.fromString('12.50'),
      dimensions: make(Dimensions, { width: 3 }),
    });
    expect(order).toEqual({ at, product: ID, price: '12.50', dimensions: { width: 3 } });
  });

  it('does not change the body', async () => {
    const body = { name: 'x', dimensions: { width: 1 }, variants: [{ sku: 'A' }] };
    const before = structuredClone(body);
    const product = await products.read(body);
    expect(body).toEqual(before);
    expect(product.dimensions).not.toBe(body.dimensions);
  });
});

describe('readPatch', () => {
  it('returns the sent fields in plain objects: nulls kept, values converted, lists whole', async () => {
    const patch = await products.readPatch({
      stock: null,
      dimensions: { depth: null, measured: '2026-01-31T09:00:00Z' },
      variants: [{ sku: 'A' }],
    });
    expect(patch).toStrictEqual({
      stock: null,
      dimensions: { depth: null, measured: new Date('2026-01-31T09:00:00Z') },
      variants: [Object.assign(Object.create(Variant.prototype), { sku: 'A' })],
    });
    expect(await products.readPatch({ dimensions: {} })).toStrictEqual({ dimensions: {} });
    expect(await products.readPatch({})).toStrictEqual({});
  });

  it('refuses null for required fields at every level, and anywhere in a list', async () => {
    const body = {
      name: null,
      dimensions: { width: null },
      variants: [{ sku: 'A', dimensions: null }, { sku: null }],
    };
    expect(await faultsOf(products.readPatch(body))).toEqual([
      { pointer: '/name', detail: '"name" is required and cannot be removed with null.' },
      { pointer: '/dimensions/width', detail: '"width" is required and cannot be removed with null.' },
      {
        pointer: '/variants/0/dimensions',
        detail: '"dimensions" must not be null. Leave the field out instead.',
      },
      { pointer: '/variants/1/sku', detail: '"sku" must not be null. Leave the field out instead.' },
    ]);
  });

  it('requires whole entries in lists, and checks the sent parts of nested objects', async () => {
    const body = { unknown: null, dimensions: { depth: 0, height: null }, variants: [{}] };
    expect(await faultsOf(products.readPatch(body))).toEqual([
      {
        pointer: '/unknown',
        detail: '"unknown" is not an input field. Allowed: name, stock, dimensions, variants.',
      },
      {
        pointer: '/dimensions/height',
        detail: '"height" is not an input field. Allowed: width, depth, measured.',
      },
      { pointer: '/dimensions/depth', detail: '"depth" must be a whole number, at least 1.' },
      { pointer: '/variants/0/sku', detail: '"sku" must be a string of 1 to 5 characters.' },
    ]);
  });
});

describe('initialisers of the class', () => {
  let made = 0;

  class Settings {
    @IsText({ max: 5 }) unit = 'cm';
  }

  class Counter {
    @IsInt() counter: number = 7;
    @IsNested(() => Settings, { optional: true }) settings?: Settings;
    @IsNested(() => Settings, { optional: true }) filled?: Settings = new Settings();
    helper = (made += 1);
  }

  const counters = new InputReader(Counter);

  it('fill in fields that a create and its nested objects omit, but never undeclared ones', async () => {
    expect(await counters.read({})).toStrictEqual(
      Object.assign(Object.create(Counter.prototype), { counter: 7, filled: new Settings() }),
    );
    expect(await counters.read({ counter: 9, settings: {} })).toMatchObject({
      counter: 9,
      settings: { unit: 'cm' },
    });
  });

  it('never run for a patch', async () => {
    const before = made;
    expect(await counters.readPatch({})).toStrictEqual({});
    expect(await counters.readPatch({ settings: {} })).toStrictEqual({ settings: {} });
    expect(await new InputReader(PartialType(Counter)).readPatch({})).toStrictEqual({});
    expect(made).toBe(before);
  });
});

describe('check', () => {
  it('holds merged nested values to the rules of complete ones', async () => {
    await products.check({ dimensions: { width: 1 } });
    await products.check({});
    expect(await faultsOf(products.check({ dimensions: { depth: 2 } as Dimensions }))).toEqual([
      { pointer: '/dimensions/width', detail: '"width" must be a whole number, at least 1.' },
    ]);
  });

  it('accepts stored values: identifiers, decimals, dates, null, and members that are not input', async () => {
    class Line {
      @IsReference(() => Product) product!: string;
      @IsDecimal({ scale: 2 }) price!: string;
      @IsTimestamp() at!: Date;
      @IsText({ max: 5, optional: true }) note?: string;
    }
    class Order {
      @IsNested(() => Line) line!: Line;
      @IsFlag() paid!: boolean;
    }
    const line = {
      _id: new Types.ObjectId(),
      product: new Types.ObjectId(),
      price: Types.Decimal128.fromString('1.50'),
      at: new Date(),
      note: null,
    };
    await new InputReader(Order).check({ line: line as never });
  });
});

describe('extras', () => {
  const reader = new InputReader(Product, ['tenant', 'secret']);

  it('are unknown to clients, and pass through unchanged for code', async () => {
    const tenant = new Types.ObjectId();
    expect(await faultsOf(reader.read({ name: 'x', tenant }))).toEqual([
      {
        pointer: '/tenant',
        detail: '"tenant" is not an input field. Allowed: name, stock, dimensions, variants.',
      },
    ]);
    const product = await reader.read({ name: 'x', tenant, secret: null }, { extras: true });
    expect(product).toEqual({ name: 'x', tenant, secret: null });
    expect(await reader.readPatch({ tenant }, { extras: true })).toEqual({ tenant });
    expect(
      await faultsOf(reader.read({ name: 'x', dimensions: { width: 1, tenant } }, { extras: true })),
    ).toEqual([
      {
        pointer: '/dimensions/tenant',
        detail: '"tenant" is not an input field. Allowed: width, depth, measured.',
      },
    ]);
    expect(reader.fields.map(({ name }) => name)).toEqual(['name', 'stock', 'dimensions', 'variants']);
  });
});
