/** @mongodb */
import { Body, ConflictException, Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Crud, CrudAction, CrudController, CrudModule, CrudService } from '../../../src/common/crud/index.js';
import { IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { CurrentScope, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { eventually } from '../../support/eventually.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme as token, GLOBEX } from '../../support/tenants.js';

class NoteInput {
  @IsText({ max: 80 }) text!: string;
  @IsWholeNumber({ default: 0 }) number?: number;
  @IsText({ max: 9, optional: true }) code?: string;
}

/** What the hooks that follow creates have seen. */
const created: unknown[] = [];

const notes = resource({
  name: 'notes',
  fields: NoteInput,
  ...OF_TENANT,
  kept: {
    ...OF_TENANT.kept,
    archivedAt: Prop({ type: Date }),
    code: Prop({ type: String, unique: true, sparse: true }),
  },
  archive: { field: 'archivedAt' },
  audit: { keptDays: 1 },
  query: { filter: ['text'], search: ['text'] },
  hooks: { afterCreate: ({ record }) => void created.push(record.text) },
});

@Injectable()
class NotesService extends CrudService.for(notes) {
  /** Stores two notes and fails after them, if the text is wrong. */
  pair(scope: TenantScope, text: string) {
    return this.atomically(scope, async (work) => {
      await this.create(work, { text: `${text} 1` });
      const second = await this.create(work, { text: `${text} 2` });
      if (text === 'wrong') throw new ConflictException('The text is wrong.');
      return second;
    });
  }
  inStore(scope: TenantScope) {
    return this.store.exists(this.filterOf('get', scope));
  }
}

class NotesController extends CrudController(notes, NotesService) {
  @CrudAction(notes, { method: 'POST', path: 'pairs', body: NoteInput, isolatedAs: 'create', errors: [409] })
  pair(@CurrentScope() scope: TenantScope, @Body() body: NoteInput) {
    return this.service.pair(scope, body.text);
  }
}

describe('a unit of work', () => {
  let service: NotesService;
  const scope = scopeOf({ tenant: ACME });
  const ofNotes = { controller: NotesController, service: NotesService };
  const app = useResourceApp(CrudModule.forFeature(notes, ofNotes));
  beforeAll(() => void (service = serviceIn(app, notes.entity)));
  beforeEach(async () => {
    await app.empty();
    created.length = 0;
  });

  const atomically: Crud['atomically'] = (...unit) => app.app.get(Crud).atomically(...unit);
  const texts = async () =>
    ((await app.get('/notes', { token })).body as Made[]).map(({ text }) => text).sort();
  const audits = (filter = {}) => app.database.collection('audits').countDocuments(filter);

  it('stores all of its writes at once, and runs what follows them after that', async () => {
    const seen: unknown[] = [];
    await atomically(scope, async (work) => {
      const { _id } = await service.create(work, { text: 'one' });
      await service.create(work, { text: 'two' });
      await service.update(work, _id, { text: 'three' });
      seen.push([...created], await service.count(work), (await service.get(work, _id)).text);
    });
    expect(seen).toEqual([[], 2, 'three']);
    expect(await texts()).toEqual(['three', 'two']);
    expect(created).toEqual(['one', 'two']);
    await eventually(async () => expect(await audits({ outcome: 'done' })).toBe(3));
  });

  it('leaves nothing when its function throws: no record, hook, or audit record', async () => {
    const { _id } = await service.create(scope, { text: 'kept' });
    created.length = 0;
    const before = await audits();
    const unit = atomically(scope, async (work) => {
      await service.create(work, { text: 'one' });
      await service.del(work, _id);
      throw new ConflictException('No.');
    });
    await expect(unit).rejects.toThrow('No.');
    expect([await texts(), created, await audits()]).toEqual([['kept'], [], before]);
  });

  it('is what a route carries out, whose error is its answer', async () => {
    const answer = await app.post('/notes/pairs', { text: 'good' }, { token });
    expect([answer.status, await texts()]).toEqual([201, ['good 1', 'good 2']]);
    expect(await app.post('/notes/pairs', { text: 'wrong' }, { token })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', detail: 'The text is wrong.' },
    });
    expect(await texts()).toEqual(['good 1', 'good 2']);
  });

  it('lets others read while it goes on', async () => {
    let read: unknown[] | undefined;
    let reading: Promise<unknown> | undefined;
    await atomically(scope, async (work) => {
      const { _id } = await service.create(work, { text: 'one' });
      reading ??= texts().then((found) => (read = found));
      for (let number = 1; !read; number++) await service.update(work, _id, { number });
    });
    await reading;
    expect([read, await texts()]).toEqual([[], ['one']]);
  });

  const no = () => Promise.reject(new ConflictException('No.'));
  it.each<[string, string, (work: TenantScope) => Promise<unknown>]>([
    ['takes those inside of it with it', 'No.', (work) => service.pair(work, 'inner').then(no)],
    [
      'is over when one inside of it has failed, whoever catches that',
      'The text is wrong.',
      (work) => service.pair(work, 'wrong').catch(() => undefined),
    ],
    [
      'is over when the database has rejected a write, whoever catches that',
      'A record with the same code exists.',
      async (work) => {
        await service.create(work, { text: 'first', code: 'x' });
        await service.create(work, { text: 'twin', code: 'x' }).catch(() => undefined);
        await service.create(work, { text: 'last' });
      },
    ],
  ])('%s', async (_title, message, carryOut) => {
    await expect(atomically(scope, carryOut)).rejects.toThrow(message);
    expect(await texts()).toEqual([]);
  });

  it('loses no write when many change the same record', async () => {
    const { _id } = await service.create(scope, { text: 'counter' });
    const increment = async (work: TenantScope) => {
      const { number } = await service.get(work, _id);
      await service.update(work, _id, { number: Number(number) + 1 });
    };
    await Promise.all(Array.from({ length: 10 }, () => atomically(scope, increment)));
    expect((await service.get(scope, _id)).number).toBe(10);
  });

  it('searches, lists and pages what it has written and nothing of others, and so does the store', async () => {
    const { _id } = await service.create(scopeOf({ tenant: GLOBEX }), { text: 'of others' });
    const steal = atomically(scope, (work) => service.update(work, _id, { text: 'stolen' }));
    await expect(steal).rejects.toThrow('Note not found');
    const seen = await atomically(scope, async (work) => {
      const before = await service.inStore(work);
      await service.create(work, { text: 'green tea' });
      const page = await service.page(work, { limit: 1, count: 'estimated' });
      const list = [];
      for await (const { text } of service.list(work)) list.push(text);
      return [before, page.count, page.results.map(({ text }) => text), list, await service.inStore(work)];
    });
    expect(seen).toEqual([false, 1, ['green tea'], ['green tea'], true]);
    expect((await app.get('/notes?q=tea', { token })).body).toHaveLength(1);
    // As its first verb, too, whose commands begin the transaction.
    const { count } = await atomically(scope, (work) => service.page(work, { limit: 1 }));
    expect(count).toBe(1);
  });

  it('rejects verbs with a scope of outside, those that read as well', async () => {
    const mistake = /scope of outside inside a unit of work/;
    const unit = atomically(scope, async (work) => {
      await service.create(work, { text: 'one' });
      await expect(service.create(scope, { text: 'two' })).rejects.toThrow(mistake);
      await expect(service.count(scope)).rejects.toThrow(mistake);
      await expect(service.page(scope, { limit: 1 })).rejects.toThrow(mistake);
      await expect(service.list(scope).next()).rejects.toThrow(mistake);
      await expect(atomically(scope, () => Promise.resolve())).rejects.toThrow(mistake);
      throw new ConflictException('No.');
    });
    await expect(unit).rejects.toThrow('No.');
  });

  it('takes verbs that are called at once', async () => {
    await atomically(scope, (work) =>
      Promise.all(['a', 'b', 'c'].map((text) => service.create(work, { text }))),
    );
    expect(await texts()).toEqual(['a', 'b', 'c']);
  });
});
