import { Body, Param } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { CrudAction, CrudController, CrudModule, crudOptions } from '../../../src/common/crud/index.js';
import {
  IsNested,
  IsReference,
  IsText,
  IsWholeNumber,
  type JsonSchema,
} from '../../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';

class Edition {
  @IsText({ max: 100 }) publisher!: string;
  @IsReference(() => Book, { optional: true }) after?: string;
  @IsWholeNumber({ optional: true }) year?: number;
}

class BookInput {
  @IsNested(() => Edition) first!: Edition;
  @IsNested(() => Edition, { optional: true }) last?: Edition;
}

@Schema({ timestamps: true })
class Book extends BookInput {
  @Prop()
  shelf?: string;
}

class Reprint {
  @IsNested(() => Edition) edition!: Edition;
}

const books = crudOptions({
  entity: Book,
  input: BookInput,
  name: 'books',
  isolationFields: { all: { shelf: Object.assign(() => 'front', { anonymous: true }) } },
  references: { 'first.after': { to: Book }, 'last.after': { to: Book } },
});

class BooksController extends CrudController(books) {
  @CrudAction(books, {
    method: 'POST',
    path: ':id/reprint',
    body: Reprint,
    isolatedAs: 'update',
    response: Reprint,
    status: 200,
  })
  reprint(@CurrentScope() _scope: TenantScope, @Param('id') _id: string, @Body() body: Reprint): Reprint {
    return body;
  }

  @CrudAction(books, { method: 'POST', path: ':id/return', isolatedAs: 'update' })
  return(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.update(scope, id, {});
  }
}

describe('the document of nested objects', () => {
  let schemas: Record<string, JsonSchema>;
  let paths: Record<string, { post: { parameters: { name: string }[]; responses: object } }>;
  const app = useResourceApp(CrudModule.forFeature(books, { controller: BooksController }));
  beforeAll(async () => {
    const document = (await app.get('/docs/openapi.json')).body;
    schemas = document.components.schemas;
    paths = document.paths;
  });

  it.each([
    ['BookCreate', ['first']],
    ['Book', ['_id', 'first', 'createdAt', 'updatedAt']],
    ['BookExpandable', ['_id', 'first', 'createdAt', 'updatedAt']],
    ['BookExpandablePart', ['_id']],
  ])('says in %s what each needs, and which of them are needed', (name, required) => {
    const { properties = {}, ...schema } = schemas[name] ?? {};
    expect([...(schema.required ?? [])].sort()).toEqual([...required].sort());
    expect([properties.first?.required, properties.last?.required]).toEqual([['publisher'], ['publisher']]);
  });

  it('says in a body and an answer of a route of one’s own what each needs', () => {
    expect(schemas.Reprint).toMatchObject({
      required: ['edition'],
      properties: { edition: { required: ['publisher'] } },
    });
  });

  it('needs nothing in a change', () => {
    expect(schemas.BookUpdate).not.toHaveProperty('required');
    expect(schemas.BookUpdate?.properties?.first).not.toHaveProperty('required');
  });

  it('says that a route of one’s own that changes a record takes If-Match', () => {
    const { parameters = [], responses = {} } = paths['/books/{id}/return']?.post ?? {};
    expect(parameters).toContainEqual(expect.objectContaining({ name: 'If-Match', in: 'header' }));
    expect(responses).toHaveProperty('412');
  });

  it('says that a source of one’s own may have no value, although it needs no token', () => {
    const { post } = paths['/books'] ?? {};
    expect(post?.responses).toHaveProperty('401');
    expect(post).toHaveProperty('security', []);
  });
});
