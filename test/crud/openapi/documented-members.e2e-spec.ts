import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Schema as MongooseSchema } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsText } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';

/** An entry with a member that only the server sets, and one that clients only send. */
class Line {
  @IsText({ max: 20 }) name!: string;
  @Prop({ type: String, required: true, select: false }) @IsText({ max: 20 }) code!: string;
  @Prop({ type: String, default: 'open' }) state?: string;
}

class FormInput {
  @IsText({ max: 20 }) title!: string;
  @IsListOf(() => Line, { max: 5 }) lines!: Line[];
}

@Schema({ timestamps: true })
class Form extends FormInput {
  @Prop({ type: MongooseSchema.Types.Mixed, default: { any: ['thing'] } }) meta?: unknown;

  @ApiProperty({ oneOf: [{ type: 'string' }, { type: 'number' }] })
  @Prop({ type: MongooseSchema.Types.Mixed, default: 7 })
  either?: unknown;
}

@Schema({ timestamps: true })
class Sheet extends FormInput {}

class SheetView {
  @IsListOf(() => Line, { max: 5 }) lines!: Line[];
}

describe('the document of answers', () => {
  const app = useResourceApp(
    CrudModule.forFeature({ entity: Form, input: FormInput, name: 'forms' }),
    CrudModule.forFeature({ entity: Sheet, input: FormInput, name: 'sheets', output: SheetView }),
  );

  const BODY = { title: 'A', lines: [{ name: 'a', code: 'secret' }] };
  const SHOWN = [{ name: 'a', state: 'open' }];
  const headers = { Prefer: 'return=representation' };

  // Every answer is compared with the document as well.
  it.each([
    ['/forms', { title: 'A', lines: SHOWN, meta: { any: ['thing'] }, either: 7 }],
    ['/sheets', { lines: SHOWN }],
  ])('has what entries show, and fields of any type: %s', async (path, shown) => {
    const { body } = await app.post(path, BODY, { headers });
    expect(body).toEqual({ ...body, ...shown });
    expect((await app.get(`${path}/${body._id}`)).body).toEqual(body);
    expect((await app.get(`${path}?fields=lines`)).body).toEqual([{ _id: body._id, lines: SHOWN }]);
  });

  it.each(['Form', 'FormPart', 'Sheet', 'SheetPart'])('names no hidden member: %s', async (name) => {
    const { schemas } = (await app.get('/docs/openapi.json')).body.components;
    const { items } = schemas[name].properties.lines;
    expect([Object.keys(items.properties as object), items.required]).toEqual([['name', 'state'], ['name']]);
  });

  it('says nothing of the values of a field without a type', async () => {
    const { properties } = (await app.get('/docs/openapi.json')).body.components.schemas.Form;
    expect(properties).toMatchObject({ meta: { anyOf: [{}] }, either: { oneOf: expect.any(Array) } });
    expect(properties.meta).not.toHaveProperty('type');
  });
});
