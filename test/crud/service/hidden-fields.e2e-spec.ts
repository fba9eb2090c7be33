/** @mongodb */
import { Param } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudAction, CrudController, CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsNested, IsText } from '../../../src/common/fields/index.js';
import { NoteInput } from '../../support/bulk.js';
import { useResourceApp } from '../../support/resource-app.js';
import { resource } from '../../support/resource.js';

const lockers = resource({
  name: 'lockers',
  fields: NoteInput,
  kept: { code: Prop({ type: String, select: false }) },
});

/** Gives a record that it has from elsewhere, with what the store would not have read. */
class LockersController extends CrudController(lockers) {
  @CrudAction(lockers, { method: 'GET', path: ':id/whole', isolatedAs: 'get' })
  whole(@Param('id') id: string) {
    const time = new Date(0);
    return { _id: new Types.ObjectId(id), text: 'A', code: '1234', createdAt: time, updatedAt: time, __v: 0 };
  }
}

class Key {
  @Prop({ type: String }) @IsText({ max: 20 }) name!: string;
  @Prop({ type: String, select: false }) code?: string;
}

class SafeInput extends NoteInput {
  @IsNested(() => Key, { optional: true }) key?: Key;
  @IsListOf(() => Key, { max: 3, optional: true }) spares?: Key[];
}

@Schema({ timestamps: true })
class Safe extends SafeInput {
  @Prop({ type: String, select: false }) code?: string;
  @Prop({ type: String, select: false, required: true }) maker!: string;
}

type Draft = Partial<Omit<Safe, 'code'>> & { code?: string | null };

const remove = ({ key, spares = [] }: Draft, how: (holder: { code?: string | null }) => void) =>
  [key, ...spares].forEach((holder) => holder && how(holder));

/** What a hook does with a draft, by its text. */
const EDITS: Record<string, (draft: Draft) => void> = {
  open: (draft) => {
    Object.assign(draft, { code: '1234', maker: 'Acme' });
    remove(draft, (holder) => (holder.code = '56'));
  },
  undefined: (draft) => {
    draft.code = undefined;
    remove(draft, (holder) => (holder.code = undefined));
  },
  delete: (draft) => {
    delete draft.code;
    remove(draft, (holder) => delete holder.code);
  },
  null: (draft) => {
    draft.code = null;
    remove(draft, (holder) => (holder.code = null));
  },
  'open with null': (draft) => {
    Object.assign(draft, { code: null, maker: 'Acme' });
    remove(draft, (holder) => (holder.code = null));
  },
  copy: (draft) => (draft.spares = draft.spares?.map((key) => ({ ...key }))),
  'set and delete': (draft) => {
    draft.code = 'x';
    delete draft.code;
    remove(draft, (holder) => {
      holder.code = 'x';
      delete holder.code;
    });
  },
  'remove what is required': (draft) => (draft.maker = undefined),
};

const edit = ({ record }: { record: Draft }) => EDITS[record.text ?? '']?.(record);

describe('a hook that removes a field with select: false', () => {
  const app = useResourceApp(
    CrudModule.forFeature({
      entity: Safe,
      input: SafeInput,
      name: 'safes',
      hooks: { beforeCreate: edit, beforeUpdate: edit },
    }),
  );
  beforeEach(() => app.empty());

  const codes = async () => {
    const safe = await app.database.collection<Safe>('safes').findOne({});
    const holders: object[] = [safe, safe?.key, ...(safe?.spares ?? [])].filter((holder) => !!holder);
    return holders.map((holder) => ('code' in holder ? holder.code : 'none'));
  };
  const create = async (text = 'open') => {
    const body = { text, key: { name: 'a' }, spares: [{ name: 'b' }, { name: 'c' }] };
    return `/safes/${(await app.post('/safes', body)).body._id}`;
  };

  it.each(['undefined', 'null', 'delete', 'set and delete'])('removes it: %s', async (text) => {
    const path = await create();
    expect(await codes()).toEqual(['1234', '56', '56', '56']);
    expect((await app.patch(path, { text })).status).toBe(200);
    expect(await codes()).toEqual(['none', 'none', 'none', 'none']);
  });

  it('stores nothing of what a create sets to null', async () => {
    await create('open with null');
    expect(await codes()).toEqual(['none', 'none', 'none', 'none']);
  });

  it.each(['copy', 'nothing'])('keeps it otherwise: %s', async (text) => {
    const path = await create();
    expect((await app.patch(path, { text })).status).toBe(200);
    expect(await codes()).toEqual(['1234', '56', '56', '56']);
  });

  it('cannot remove what the schema requires', async () => {
    const path = await create();
    const { status, body } = await app.patch(path, { text: 'remove what is required' });
    expect([status, body.errors]).toEqual([400, [{ pointer: '/maker', detail: '"maker" is required.' }]]);
  });
});

describe('a field with select: false', () => {
  const app = useResourceApp(CrudModule.forFeature(lockers, { controller: LockersController }));

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
