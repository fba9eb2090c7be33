import { Param } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudAction, CrudController, CrudModule, crudOptions } from '../src/common/crud/index.js';
import { NoteInput } from './support/bulk.js';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';

@Schema({ timestamps: true })
class Locker extends NoteInput {
  @Prop({ type: String, select: false })
  code?: string;
}

const lockers = crudOptions({ entity: Locker, input: NoteInput, name: 'lockers' });

/** Gives a record that it has from elsewhere, with what the store would not have read. */
class LockersController extends CrudController(lockers) {
  @CrudAction(lockers, { method: 'GET', path: ':id/whole', isolatedAs: 'get' })
  whole(@Param('id') id: string) {
    const time = new Date(0);
    return { _id: new Types.ObjectId(id), text: 'A', code: '1234', createdAt: time, updatedAt: time, __v: 0 };
  }
}

describe('a field with select: false', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createResourceApp(CrudModule.forFeature(lockers, { controller: LockersController }));
  });
  afterAll(() => app.close());

  it('is not shown, even if a handler returns it', async () => {
    const _id = '665f1c2ab7e3a90d4c8b4567';
    const time = '1970-01-01T00:00:00.000Z';
    const { body } = await app.get(`/lockers/${_id}/whole`);
    expect(body).toEqual({ _id, text: 'A', createdAt: time, updatedAt: time });
  });

  it('cannot be requested', async () => {
    const { status, body } = await app.get('/lockers?fields=code');
    expect([status, body.errors?.[0]?.parameter]).toEqual([400, 'fields']);
  });
});
