import { Prop, Schema as MongooseSchema, Virtual } from '@nestjs/mongoose';
import { ApiProperty, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, ValidateNested } from 'class-validator';
import { Type } from 'class-transformer';
import { model, Schema, Types } from 'mongoose';
import {
  fieldsOf,
  InputReader,
  IsDecimal,
  IsFlag,
  IsListOf,
  IsNested,
  IsReference,
  IsText,
  IsTextList,
  IsTimestamp,
  IsWholeNumber,
  jsonSchemaOf,
  schemaOf,
  unvalidatedFieldsOf,
} from '../src/common/fields/index.js';

const ID = '665f1c2ab7e3a90d4c8b4567';

class Category {}

class Dimensions {
  @IsWholeNumber({ min: 1, max: 500 })
  width!: number;

  @IsWholeNumber({ min: 1, max: 500, optional: true })
  depth?: number;
}

class Variant {
  @IsText({ min: 1, max: 20 })
  sku!: string;

  @IsDecimal({ scale: 2 })
  price!: string;

  @IsNested(() => Dimensions, { optional: true })
  dimensions?: Dimensions;
}

class ProductInput {
  @IsText({ min: 1, max: 200, example: 'Chair' })
  name!: string;

  @IsFlag({ default: true })
  visible?: boolean;

  @IsNested(() => Dimensions, { optional: true })
  dimensions?: Dimensions;

  @IsListOf(() => Variant, { max: 50 })
  variants!: Variant[];

  @IsTextList({ maxEntries: 3, entry: { max: 10 }, optional: true })
  labels?: string[];

  @IsReference(() => Category, { optional: true })
  category?: string;
}

@MongooseSchema({ timestamps: true, collection: 'goods' })
class Product extends ProductInput {
  @Prop({ type: Schema.Types.ObjectId, required: true })
  tenant!: Types.ObjectId;

  @Virtual({
    get(this: Product) {
      return this.name.toUpperCase();
    },
  })
  shout?: string;
}

const WIDTH = { type: 'integer', minimum: 1, maximum: 500 };
const DIMENSIONS = {
  type: 'object',
  properties: { width: WIDTH, depth: WIDTH },
  required: ['width'],
  additionalProperties: false,
};
const VARIANT = {
  type: 'object',
  properties: {
    sku: { type: 'string', minLength: 1, maxLength: 20 },
    price: { type: 'string', format: 'decimal', pattern: '^-?(0|[1-9]\\d*)(\\.\\d{1,2})?$' },
    dimensions: DIMENSIONS,
  },
  required: ['sku', 'price'],
  additionalProperties: false,
};
const PROPERTIES = {
  name: { type: 'string', minLength: 1, maxLength: 200, example: 'Chair' },
  visible: { type: 'boolean', default: true },
  dimensions: DIMENSIONS,
  variants: { type: 'array', items: VARIANT, maxItems: 50 },
  labels: { type: 'array', items: { type: 'string', maxLength: 10 }, maxItems: 3 },
  category: { type: 'string', pattern: '^[0-9a-fA-F]{24}$' },
};

describe('jsonSchemaOf', () => {
  it('describes a class with its nested classes', () => {
    expect(jsonSchemaOf(ProductInput)).toEqual({
      type: 'object',
      properties: PROPERTIES,
      required: ['name', 'variants'],
      additionalProperties: false,
    });
  });

  it('describes a merge patch: all optional, null for what may go, nested objects partial, lists whole', () => {
    expect(jsonSchemaOf(ProductInput, { partial: true })).toEqual({
      type: 'object',
      properties: {
        ...PROPERTIES,
        visible: { ...PROPERTIES.visible, nullable: true },
        dimensions: {
          type: 'object',
          properties: { width: WIDTH, depth: { ...WIDTH, nullable: true } },
          additionalProperties: false,
          nullable: true,
        },
        labels: { ...PROPERTIES.labels, nullable: true },
        category: { ...PROPERTIES.category, nullable: true },
      },
      additionalProperties: false,
    });
  });

  it('ends where a class contains itself', () => {
    class Node {
      @IsText({ max: 5 })
      name!: string;

      @IsListOf(() => Node, { max: 9, optional: true })
      children?: object[];
    }
    const name = { type: 'string', maxLength: 5 };
    const level = (items: object) => ({
      type: 'object',
      properties: { name, children: { type: 'array', items, maxItems: 9 } },
      required: ['name'],
      additionalProperties: false,
    });
    expect(jsonSchemaOf(Node)).toEqual(level(level(level(level({ type: 'object' })))));
    expect(fieldsOf(Node).map((field) => field.name)).toEqual(['name', 'children']);
  });

  it('ends where two classes contain each other', () => {
    class Left {
      @IsNested(() => Right, { optional: true })
      right?: object;
    }
    class Right {
      @IsNested(() => Left, { optional: true })
      left?: object;
    }
    const text = JSON.stringify(jsonSchemaOf(Left));
    expect(text.match(/"right"/g)).toHaveLength(2);
    expect(text).toContain('{"type":"object"}');
  });
});

describe('fieldsOf', () => {
  it('gives the fields in order of declaration, those of base classes first', () => {
    class Late extends ProductInput {
      @IsText({ max: 5 })
      last!: string;

      @IsText({ max: 100, optional: true })
      override name = 'late';
    }
    const fields = fieldsOf(Late);
    expect(fields.map(({ name }) => name)).toEqual([...Object.keys(PROPERTIES), 'last']);
    expect(fields[0]).toMatchObject({ name: 'name', required: false, schema: { maxLength: 100 } });
    expect(fieldsOf(ProductInput)[0]).toMatchObject({ required: true, schema: { maxLength: 200 } });
  });

  it('reads mapped types', () => {
    class Picked extends PickType(ProductInput, ['name', 'dimensions', 'category']) {}
    class Omitted extends OmitType(ProductInput, ['variants']) {}
    class Partial extends PartialType(ProductInput) {}
    expect(jsonSchemaOf(Picked)).toEqual({
      type: 'object',
      properties: {
        name: PROPERTIES.name,
        dimensions: DIMENSIONS,
        category: PROPERTIES.category,
      },
      required: ['name'],
      additionalProperties: false,
    });
    expect(fieldsOf(Picked)[0]?.store).toEqual({ type: String, required: true });
    expect(fieldsOf(Omitted).map(({ name }) => name)).toEqual(
      Object.keys(PROPERTIES).filter((name) => name !== 'variants'),
    );
    expect(jsonSchemaOf(Partial)).toEqual({
      type: 'object',
      properties: PROPERTIES,
      additionalProperties: false,
    });
  });

  it('names the field whose nested class is undefined, as a circular import leaves it', () => {
    class Broken {
      @IsNested(() => undefined as never)
      part!: object;
    }
    expect(() => fieldsOf(Broken)).toThrow(
      'The nested class of Broken.part is undefined. Two files that import each other do that: move one class.',
    );
  });
});

describe('unvalidatedFieldsOf', () => {
  it('names the fields that no validator knows', () => {
    class Forgetful {
      @IsText({ max: 5 })
      known!: string;

      @IsOptional()
      anything?: unknown;

      @ApiProperty()
      documented!: string;

      @Prop({ type: String })
      stored!: string;

      bare!: string;

      started = 1;

      method(): void {
        this.started = 2;
      }
    }
    expect(unvalidatedFieldsOf(Forgetful)).toEqual(['documented', 'stored', 'bare', 'started']);
    expect(unvalidatedFieldsOf(ProductInput)).toEqual([]);
    expect(unvalidatedFieldsOf(Product)).toEqual(['tenant', 'shout']);
  });

  it('knows inherited and mapped validators', () => {
    class Base {
      inherited!: string;
    }
    class Derived extends Base {
      @IsText({ max: 5 })
      known!: string;
    }
    class Picked extends PickType(ProductInput, ['name']) {
      extra!: string;
    }
    expect(unvalidatedFieldsOf(Derived)).toEqual(['inherited']);
    expect(unvalidatedFieldsOf(Picked)).toEqual(['extra']);
  });
});

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
      @IsText({ max: 5 })
      name!: string;

      @IsNested(() => Node, { optional: true })
      next?: object;

      @IsListOf(() => Node, { max: 9, optional: true })
      children?: object[];
    }
    class Tree {
      @IsNested(() => Node)
      root!: object;
    }
    const Model = model('StoredTree', schemaOf(Tree));
    const root = { name: 'a', next: { name: 'b', children: [{ name: 'c', next: { name: 'd' } }] } };
    const input = await new InputReader(Tree).read({ root });
    const document = new Model(input, undefined, { strict: 'throw' });
    await document.validate();
    expect(document.toObject().root).toEqual(root);
  });

  it('lets explicit options of @Prop() win, and takes the type from the field decorator', () => {
    class Nested {
      @IsText({ max: 5 })
      text!: string;
    }
    @MongooseSchema()
    class Mixed {
      @Prop({ index: true, select: false })
      @IsDecimal({ scale: 2 })
      price!: string;

      @Prop({ required: false, unique: true })
      @IsText({ min: 1, max: 5 })
      code!: string;

      @Prop({ type: String })
      @IsTimestamp()
      when!: Date;

      @Prop({ select: false })
      @IsNested(() => Nested)
      nested!: Nested;

      @Prop({ index: true })
      @IsTextList({ maxEntries: 2, entry: { max: 5 }, optional: true })
      words?: string[];

      @Prop()
      @IsString()
      plain!: string;
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
      @Prop()
      @IsInt()
      size!: number;
    }
    class Declared {
      @IsText({ max: 5 })
      text!: string;
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
});
