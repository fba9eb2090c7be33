import { Body, Controller, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, OmitType, PartialType, PickType, SwaggerModule } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { fieldsOf } from '../../../src/common/fields/index.js';
import { IsListOf, IsNested, IsText, jsonSchemaOf, schemaOf } from '../../../src/index.js';
import { ProductInput } from '../../support/product-input.js';

/** A closed object; without required fields, like a merge patch, unless some are named. */
const object = (properties: object, required?: string[]) => ({
  ...{ type: 'object', properties, additionalProperties: false },
  ...(required && { required }),
});
const WIDTH = { type: 'integer', minimum: 1, maximum: 500 };
const DIMENSIONS = object({ width: WIDTH, depth: WIDTH }, ['width']);
const price = { type: 'string', format: 'decimal', pattern: '^-?(0|[1-9]\\d*)(\\.\\d{1,2})?$' };
const VARIANT = object(
  { sku: { type: 'string', minLength: 1, maxLength: 20 }, price, dimensions: DIMENSIONS },
  ['sku', 'price'],
);
const PROPERTIES = {
  name: { type: 'string', minLength: 1, maxLength: 200, example: 'Chair' },
  visible: { type: 'boolean', default: true },
  dimensions: DIMENSIONS,
  variants: { type: 'array', items: VARIANT, maxItems: 50 },
  labels: { type: 'array', items: { type: 'string', maxLength: 10 }, maxItems: 3, example: ['news'] },
  category: { type: 'string', pattern: '^[0-9a-fA-F]{24}$', example: '665f1c2ab7e3a90d4c8b4567' },
};

describe('jsonSchemaOf', () => {
  it('describes a class with its nested classes', () => {
    expect(jsonSchemaOf(ProductInput)).toEqual(object(PROPERTIES, ['name', 'variants']));
  });

  it('describes a merge patch: all optional, null for what may go, nested objects partial, lists whole', () => {
    const nullable = true;
    const changes = {
      ...PROPERTIES,
      visible: { ...PROPERTIES.visible, nullable },
      dimensions: { ...object({ width: WIDTH, depth: { ...WIDTH, nullable } }), nullable },
      labels: { ...PROPERTIES.labels, nullable },
      category: { ...PROPERTIES.category, nullable },
    };
    expect(jsonSchemaOf(ProductInput, { partial: true })).toEqual(object(changes));
  });

  it('describes a bigint as the text that it is in answers', () => {
    class Parcel {
      @IsOptional() serial?: bigint;
    }
    expect(jsonSchemaOf(Parcel).properties).toEqual({ serial: { type: 'string', pattern: '^-?\\d+$' } });
  });

  it('stops if a class contains itself', () => {
    class Node {
      @IsText({ max: 5 }) name!: string;
      @IsListOf(() => Node, { max: 9, optional: true }) children?: object[];
    }
    const name = { type: 'string', maxLength: 5 };
    const level = (items: object) =>
      object({ name, children: { type: 'array', items, maxItems: 9 } }, ['name']);
    expect(jsonSchemaOf(Node)).toEqual(level(level(level(level({ type: 'object' })))));
    expect(fieldsOf(Node).map((field) => field.name)).toEqual(['name', 'children']);
  });

  it('stops if two classes contain each other', () => {
    class Left {
      @IsNested(() => Right, { optional: true }) right?: object;
    }
    class Right {
      @IsNested(() => Left, { optional: true }) left?: object;
    }
    const text = JSON.stringify(jsonSchemaOf(Left));
    expect(text.match(/"right"/g)).toHaveLength(2);
    expect(text).toContain('{"type":"object"}');
  });
});

describe('fieldsOf', () => {
  it('gives the fields in order of declaration, those of base classes first', () => {
    class Late extends ProductInput {
      @IsText({ max: 5 }) last!: string;
      @IsText({ max: 100, optional: true }) override name = 'late';
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
    const { name, category } = PROPERTIES;
    expect(jsonSchemaOf(Picked)).toEqual(object({ name, dimensions: DIMENSIONS, category }, ['name']));
    expect(schemaOf(Picked).path('name')).toMatchObject({ instance: 'String', isRequired: true });
    expect(fieldsOf(Omitted).map(({ name }) => name)).toEqual(
      Object.keys(PROPERTIES).filter((name) => name !== 'variants'),
    );
    expect(jsonSchemaOf(Partial)).toEqual(object(PROPERTIES));
  });

  it('names the field whose nested class is undefined, as a circular import leaves it', () => {
    class Broken {
      @IsNested(() => undefined as never) part!: object;
    }
    expect(() => fieldsOf(Broken)).toThrow(
      'The nested class of Broken.part is undefined. Two files that import each other do that: move one class.',
    );
  });
});

it('the explorer shows every field, and nested classes as separate schemas', async () => {
  @Controller('products')
  class ProductsController {
    @Post()
    create(@Body() input: ProductInput): ProductInput {
      return input;
    }
  }
  const root = { module: class ProductsModule {}, controllers: [ProductsController] };
  const app = await NestFactory.create(root, new FastifyAdapter(), { logger: false });
  const { components } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  await app.close();
  const open = ({ additionalProperties: _closed, ...schema }: ReturnType<typeof object>, changed = {}) => ({
    ...schema,
    properties: { ...schema.properties, ...changed },
  });
  const dimensions = { $ref: '#/components/schemas/Dimensions' };
  const variants = { type: 'array', items: { $ref: '#/components/schemas/Variant' }, maxItems: 50 };
  expect(components?.schemas).toEqual({
    ProductInput: open(object(PROPERTIES, ['name', 'variants']), { dimensions, variants }),
    Dimensions: open(DIMENSIONS),
    Variant: open(VARIANT, { dimensions }),
  });
});
