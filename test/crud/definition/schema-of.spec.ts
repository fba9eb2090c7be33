import type { Type } from '@nestjs/common';
import { Prop, Schema as MongooseSchema } from '@nestjs/mongoose';
import { IsInt, IsString, ValidateNested } from 'class-validator';
import { Type as TypeOf } from 'class-transformer';
import { model, Schema, Types } from 'mongoose';
import { InputReader } from '../../../src/common/fields/index.js';
import { IsDecimal, IsListOf, IsNested, IsText, IsTimestamp, schemaOf } from '../../../src/index.js';
import { Product, ProductInput } from '../../support/product-input.js';

const ID = '665f1c2ab7e3a90d4c8b4567';
class Declared {
  @IsText({ max: 5 }) text!: string;
}

const typesOf = (type: Type) =>
  Object.fromEntries(Object.entries(schemaOf(type).paths).map(([path, { instance }]) => [path, instance]));
/** The paths of a class that is nested in another. */
const pathsOf = (type: Type, nested: string) => Object.keys(schemaOf(type).path(nested).schema?.paths ?? {});
async function stored(name: string, type: Type, input: Type, sent: object, more: object = {}) {
  const Model = model(name, schemaOf(type));
  const read = await new InputReader(input).read(sent);
  const document = new Model({ ...read, ...more }, undefined, { strict: 'throw' });
  await document.validate();
  const { _id, ...record } = document.toObject() as { _id: Types.ObjectId };
  return record;
}

describe('schemaOf', () => {
  it('has the fields of field decorators and of @Prop(), and the options and virtuals of the class', () => {
    const schema = schemaOf(Product);
    expect(typesOf(Product)).toEqual({
      ...{ name: 'String', visible: 'Boolean', dimensions: 'Embedded', variants: 'Array', labels: 'Array' },
      ...{ category: 'ObjectId', tenant: 'ObjectId', createdAt: 'Date', updatedAt: 'Date', _id: 'ObjectId' },
    });
    expect(schema.get('collection')).toBe('goods');
    expect(Object.keys(schema.virtuals)).toContain('shout');
    expect(schema.requiredPaths(true).sort()).toEqual(['name', 'tenant', 'variants']);
  });

  it('is a new schema at each call', () => {
    const first = schemaOf(Product);
    first.add({ later: String });
    expect(schemaOf(Product).path('later')).toBeUndefined();
  });

  it('stores what was read, with defaults and without identifiers in nested objects', async () => {
    const variant = { sku: 'A', price: '12.50', dimensions: { width: 1, depth: 2 } };
    const sent = { name: 'Chair', dimensions: { width: 50 }, variants: [variant], category: ID };
    const id = new Types.ObjectId(ID);
    expect(await stored('StoredProduct', Product, ProductInput, sent, { tenant: id })).toEqual({
      ...sent,
      visible: true,
      variants: [{ ...variant, price: Types.Decimal128.fromString('12.50') }],
      category: id,
      tenant: id,
    });
  });

  it('stores a class that contains itself', async () => {
    class Node {
      @IsText({ max: 5 }) name!: string;
      @IsNested(() => Node, { optional: true }) next?: object;
      @IsListOf(() => Node, { max: 9, optional: true }) children?: object[];
    }
    class Tree {
      @IsNested(() => Node) root!: object;
    }
    const root = { name: 'a', next: { name: 'b', children: [{ name: 'c', next: { name: 'd' } }] } };
    expect(await stored('StoredTree', Tree, Tree, { root })).toEqual({ root });
  });

  it('lets explicit options of @Prop() win, and uses the type of the field decorator', () => {
    @MongooseSchema()
    class Mixed {
      @Prop({ index: true, select: false }) @IsDecimal({ scale: 2 }) price!: string;
      @Prop({ required: false, unique: true }) @IsText({ min: 1, max: 5 }) code!: string;
      @Prop({ type: String }) @IsTimestamp() when!: Date;
      @Prop({ select: false }) @IsNested(() => Declared) nested!: Declared;
      @Prop({ index: true })
      @IsListOf(IsText({ max: 5 }), { max: 2, optional: true })
      words?: string[];
      @Prop() @IsString() plain!: string;
    }
    for (const round of [1, 2]) {
      expect({ round, paths: schemaOf(Mixed).paths }).toMatchObject({
        round,
        paths: {
          price: { options: { type: Schema.Types.Decimal128, required: true, index: true, select: false } },
          code: { options: { type: String, required: false, unique: true } },
          when: { options: { type: String, required: true } },
          words: { options: { type: [String], index: true } },
          plain: { options: { type: String } },
          nested: { instance: 'Embedded', options: { select: false } },
        },
      });
      expect(pathsOf(Mixed, 'nested')).toEqual(['text']);
    }
  });

  it('stores nested classes that plain decorators name, whichever way they say their types', () => {
    @MongooseSchema()
    class WithIdentifier {
      @Prop() @IsInt() size!: number;
    }
    @MongooseSchema()
    class Holder {
      @Prop({ type: WithIdentifier }) @ValidateNested() @TypeOf(() => WithIdentifier) one!: WithIdentifier;
      @Prop({ type: [Declared] }) @ValidateNested({ each: true }) @TypeOf(() => Declared) many!: Declared[];
    }
    expect(pathsOf(Holder, 'one')).toEqual(['size', '_id']);
    expect(pathsOf(Holder, 'many')).toEqual(['text']);
  });

  it('takes the classes of BSON for the types of the store', () => {
    @MongooseSchema()
    class Owned {
      @Prop({ type: Types.ObjectId, required: true }) owner!: Types.ObjectId;
      @Prop({ type: [Types.ObjectId] }) readers!: Types.ObjectId[];
      @Prop() designed!: Types.ObjectId;
      @Prop({ type: Types.Decimal128 }) price!: Types.Decimal128;
    }
    for (const round of [1, 2]) {
      expect({ round, ...typesOf(Owned) }).toEqual({
        round,
        ...{ owner: 'ObjectId', readers: 'Array', designed: 'ObjectId', price: 'Decimal128' },
        _id: 'ObjectId',
      });
      expect(schemaOf(Owned).path('readers').options.type).toEqual([Schema.Types.ObjectId]);
    }
  });
});
