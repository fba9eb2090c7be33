import { Body, Controller, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Prop } from '@nestjs/mongoose';
import {
  ApiProperty,
  DocumentBuilder,
  OmitType,
  PartialType,
  PickType,
  SwaggerModule,
} from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import {
  fieldsOf,
  IsListOf,
  IsNested,
  IsText,
  jsonSchemaOf,
  unvalidatedFieldsOf,
  schemaOf,
} from '../../../src/common/fields/index.js';
import { Product, ProductInput } from '../../support/product-input.js';

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
  labels: { type: 'array', items: { type: 'string', maxLength: 10 }, maxItems: 3, example: ['news'] },
  category: { type: 'string', pattern: '^[0-9a-fA-F]{24}$', example: '665f1c2ab7e3a90d4c8b4567' },
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

  it('stops if a class contains itself', () => {
    class Node {
      @IsText({ max: 5 }) name!: string;
      @IsListOf(() => Node, { max: 9, optional: true }) children?: object[];
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
    expect(schemaOf(Picked).path('name')).toMatchObject({ instance: 'String', isRequired: true });
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
      @IsNested(() => undefined as never) part!: object;
    }
    expect(() => fieldsOf(Broken)).toThrow(
      'The nested class of Broken.part is undefined. Two files that import each other do that: move one class.',
    );
  });
});

describe('unvalidatedFieldsOf', () => {
  it('names the fields that no validator knows', () => {
    class Forgetful {
      @IsText({ max: 5 }) known!: string;
      @IsOptional() anything?: unknown;
      @ApiProperty() documented!: string;
      @Prop({ type: String }) stored!: string;
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

  it('recognises inherited and mapped validators', () => {
    class Base {
      inherited!: string;
    }
    class Derived extends Base {
      @IsText({ max: 5 }) known!: string;
    }
    class Picked extends PickType(ProductInput, ['name']) {
      extra!: string;
    }
    expect(unvalidatedFieldsOf(Derived)).toEqual(['inherited']);
    expect(unvalidatedFieldsOf(Picked)).toEqual(['extra']);
  });
});

describe('the explorer', () => {
  it('shows every field, and nested classes as separate schemas', async () => {
    @Controller('products')
    class ProductsController {
      @Post()
      create(@Body() input: ProductInput): ProductInput {
        return input;
      }
    }
    @Module({ controllers: [ProductsController] })
    class ProductsModule {}
    const app = await NestFactory.create(ProductsModule, new FastifyAdapter(), { logger: false });
    const { components } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    await app.close();
    const { additionalProperties: _closed, ...dimensions } = DIMENSIONS;
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(components?.schemas).toEqual({
      ProductInput: {
        type: 'object',
        properties: {
          ...PROPERTIES,
          dimensions: ref('Dimensions'),
          variants: { type: 'array', items: ref('Variant'), maxItems: 50 },
        },
        required: ['name', 'variants'],
      },
      Dimensions: dimensions,
      Variant: {
        type: 'object',
        properties: { ...VARIANT.properties, dimensions: ref('Dimensions') },
        required: VARIANT.required,
      },
    });
  });
});
