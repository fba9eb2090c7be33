import { Body, Param } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Schema } from 'mongoose';
import * as f from '../../../src/common/fields/index.js';
import {
  CrudAction,
  CrudController,
  CrudModule,
  CurrentScope,
  type TenantScope,
} from '../../../src/index.js';
import { feature, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';

class Edition {
  @f.IsText({ max: 100 }) publisher!: string;
  @f.IsReference(() => books.entity, { optional: true }) after?: string;
  @f.IsWholeNumber({ optional: true }) year?: number;
}
class Reprint {
  @f.IsNested(() => Edition) edition!: Edition;
}
const books = resource({
  name: 'books',
  fields: { first: f.IsNested(() => Edition), last: f.IsNested(() => Edition, { optional: true }) },
  kept: { shelf: Prop({ type: String }) },
  isolationFields: { all: { shelf: Object.assign(() => 'front', { anonymous: true }) } },
});
const to = books.entity;
books.references = { 'first.after': { to }, 'last.after': { to } };

class BooksController extends CrudController(books) {
  @CrudAction(books, {
    method: 'POST',
    path: 'reprint',
    isolatedAs: 'create',
    body: Reprint,
    response: Reprint,
  })
  reprint(@Body() body: Reprint) {
    return body;
  }

  @CrudAction(books, { method: 'POST', path: ':id/return', isolatedAs: 'update' })
  return(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.update(scope, id, {});
  }
}

/** An entry with a member that only the server sets, and one that clients only send. */
class Line {
  @f.IsText({ max: 20 }) name!: string;
  @Prop({ type: String, required: true, select: false }) @f.IsText({ max: 20 }) code!: string;
  @Prop({ type: String, default: 'open' }) state?: string;
}
class SheetView {
  @f.IsListOf(() => Line, { max: 5 }) lines!: Line[];
}
const fields = { title: f.IsText({ max: 20 }), lines: f.IsListOf(() => Line, { max: 5 }) };

let schemas: Record<string, f.JsonSchema>;
let paths: Record<string, { post: object }>;
const app = useResourceApp(
  CrudModule.forFeature(books, { controller: BooksController }),
  feature({ name: 'sheets', fields, output: SheetView }),
  feature({
    name: 'forms',
    fields,
    kept: {
      meta: Prop({ type: Schema.Types.Mixed, default: { any: ['thing'] } }),
      either: [
        ApiProperty({ oneOf: [{ type: 'string' }, { type: 'number' }] }),
        Prop({ type: Schema.Types.Mixed, default: 7 }),
      ],
    },
  }),
);
beforeAll(async () => {
  const { body } = await app.get('/docs/openapi.json');
  ({ paths } = body);
  ({ schemas } = body.components);
});

describe('the document of nested objects', () => {
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

  it('says what each needs in a route of one’s own, too, and needs nothing in a change', () => {
    const properties = { edition: { required: ['publisher'] } };
    expect(schemas.Reprint).toMatchObject({ required: ['edition'], properties });
    expect(schemas.BookUpdate).not.toHaveProperty('required');
    expect(schemas.BookUpdate?.properties?.first).not.toHaveProperty('required');
  });

  it('says that a route of one’s own that changes a record takes If-Match', () => {
    const parameters = expect.arrayContaining([expect.objectContaining({ name: 'If-Match', in: 'header' })]);
    expect(paths['/books/{id}/return']?.post).toMatchObject({ parameters, responses: { 412: {} } });
  });

  it('says that a source of one’s own may have no value, although it needs no token', () => {
    expect(paths['/books']?.post).toMatchObject({ security: [], responses: { 401: {} } });
  });
});

describe('the document of answers', () => {
  const SHOWN = [{ name: 'a', state: 'open' }];

  // Every answer is compared with the document as well.
  it.each([
    ['/forms', { title: 'A', lines: SHOWN, meta: { any: ['thing'] }, either: 7 }],
    ['/sheets', { lines: SHOWN }],
  ])('has what entries show, and fields of any type: %s', async (path, shown) => {
    const sent = { title: 'A', lines: [{ name: 'a', code: 'secret' }] };
    const { body } = await app.post(path, sent, { headers: { Prefer: 'return=representation' } });
    expect(body).toEqual({ ...body, ...shown });
    expect((await app.get(`${path}/${body._id}`)).body).toEqual(body);
    expect((await app.get(`${path}?fields=lines`)).body).toEqual([{ _id: body._id, lines: SHOWN }]);
  });

  it.each(['Form', 'FormPart', 'Sheet', 'SheetPart'])('names no hidden member: %s', (name) => {
    const { properties = {}, required } = schemas[name]?.properties?.lines?.items ?? {};
    expect([Object.keys(properties), required]).toEqual([['name', 'state'], ['name']]);
  });

  it('says nothing of the values of a field without a type', () => {
    const { meta, either } = schemas.Form?.properties ?? {};
    expect([meta, either]).toMatchObject([{ anyOf: [{}] }, { oneOf: expect.any(Array) }]);
    expect(meta).not.toHaveProperty('type');
  });
});
