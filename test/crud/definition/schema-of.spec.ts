import { Prop, Schema as MongooseSchema } from '@nestjs/mongoose';
import { IsInt, IsString, ValidateNested } from 'class-validator';
import { Type } from 'class-transformer';
import { model, Schema, Types } from 'mongoose';
import {
  InputReader,
  IsDecimal,
  IsListOf,
  IsNested,
  IsText,
  IsTextList,
  IsTimestamp,
  schemaOf,
} from '../../../src/common/fields/index.js';
import { Product, ProductInput } from '../../support/product-input.js';

const ID = '665f1c2ab7e3a90d4c8b4567';

describe('schemaOf', () => {
  it('has the fields of field decorators and of @Prop(), and the options and virtuals of the class', () => {
    const schema = schemaOf(Product);
    const types = Object.entries(schema.paths).map(([path, type]) => [path, type.instance]);
    expect(Object.fromEntries(types)).toEqual({
      name: 'String',
      visible: 'Boolean',
      dimensions: 'Embedded',
      variants: 'Array',
      labels: 'Array',
      category: 'ObjectId',
      tenant: 'ObjectId',
      createdAt: 'Date',
      updatedAt: 'Date',
      _id: 'ObjectId',
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
    const Model = model('StoredProduct', schemaOf(Product));
    const input = await new InputReader(ProductInput).read({
      name: 'Chair',
      dimensions: { width: 50 },
      variants: [{ sku: 'A', price: '12.50', dimensions: { width: 1, depth: 2 } }],
      category: ID,
    });
    const document = new Model({ ...input, tenant: new Types.ObjectId(ID) }, undefined, { strict: 'throw' });
    await document.validate();
    const { _id, ...record } = document.toObject();
    expect(record).toEqual({
      name: 'Chair',
      visible: true,
      dimensions: { width: 50 },
      variants: [
        { sku: 'A', price: Types.Decimal128.fromString('12.50'), dimensions: { width: 1, depth: 2 } },
      ],
      category: new Types.ObjectId(ID),
      tenant: new Types.ObjectId(ID),
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
    const Model = model('StoredTree', schemaOf(Tree));
    const root = { name: 'a', next: { name: 'b', children: [{ name: 'c', next: { name: 'd' } }] } };
    const input = await new InputReader(Tree).read({ root });
    const document = new Model(input, undefined, { strict: 'throw' });
    await document.validate();
    expect(document.toObject().root).toEqual(root);
  });

  it('lets explicit options of @Prop() win, and uses the type of the field decorator', () => {
    class Nested {
      @IsText({ max: 5 }) text!: string;
    }
    @MongooseSchema()
    class Mixed {
      @Prop({ index: true, select: false }) @IsDecimal({ scale: 2 }) price!: string;
      @Prop({ required: false, unique: true }) @IsText({ min: 1, max: 5 }) code!: string;
      @Prop({ type: String }) @IsTimestamp() when!: Date;
      @Prop({ select: false }) @IsNested(() => Nested) nested!: Nested;

      @Prop({ index: true })
      @IsTextList({ maxEntries: 2, entry: { max: 5 }, optional: true })
      words?: string[];

      @Prop() @IsString() plain!: string;
    }
    for (const round of [1, 2]) {
      const schema = schemaOf(Mixed);
      const options = Object.fromEntries(
        Object.entries(schema.paths).map(([path, type]) => [path, type.options as Record<string, unknown>]),
      );
      expect(options).toMatchObject({
        price: { type: Schema.Types.Decimal128, required: true, index: true, select: false },
        code: { type: String, required: false, unique: true },
        when: { type: String, required: true },
        words: { type: [String], index: true },
        plain: { type: String },
      });
      expect({ round, nested: schema.path('nested').instance }).toEqual({ round, nested: 'Embedded' });
      expect(Object.keys(schema.path('nested').schema?.paths ?? {})).toEqual(['text']);
      expect(options.nested?.select).toBe(false);
    }
  });

  it('stores nested classes that plain decorators name, whichever way they say their types', () => {
    @MongooseSchema()
    class WithIdentifier {
      @Prop() @IsInt() size!: number;
    }
    class Declared {
      @IsText({ max: 5 }) text!: string;
    }
    @MongooseSchema()
    class Holder {
      @Prop({ type: WithIdentifier })
      @ValidateNested()
      @Type(() => WithIdentifier)
      one!: WithIdentifier;

      @Prop({ type: [Declared] })
      @ValidateNested({ each: true })
      @Type(() => Declared)
      many!: Declared[];
    }
    const schema = schemaOf(Holder);
    expect(Object.keys(schema.path('one').schema?.paths ?? {})).toEqual(['size', '_id']);
    expect(Object.keys(schema.path('many').schema?.paths ?? {})).toEqual(['text']);
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
      const { paths } = schemaOf(Owned);
      const types = Object.fromEntries(Object.entries(paths).map(([path, type]) => [path, type.instance]));
      expect({ round, types }).toEqual({
        round,
        types: {
          owner: 'ObjectId',
          readers: 'Array',
          designed: 'ObjectId',
          price: 'Decimal128',
          _id: 'ObjectId',
        },
      });
      expect(paths.readers?.options.type).toEqual([Schema.Types.ObjectId]);
    }
  });
});
