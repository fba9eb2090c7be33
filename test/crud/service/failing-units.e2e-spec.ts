/** @mongodb */
import { once } from 'node:events';
import { Body, ConflictException, Injectable, type Type } from '@nestjs/common';
import { mongo } from 'mongoose';
import { Crud, CrudAction, CrudController, CrudModule, CrudService } from '../../../src/common/crud/index.js';
import { readSearch } from '../../../src/common/crud/search/search.js';
import { WriteConflictError } from '../../../src/common/errors/index.js';
import { CurrentScope, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { eventually } from '../../support/eventually.js';
import { separateMongodb } from '../../support/mongodb.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { type Made, resource } from '../../support/resource.js';

/** What follows the next update, once. */
const afterUpdate: (() => Promise<void>)[] = [];

const memos = resource({
  name: 'memos',
  bulk: true,
  query: { search: ['text'] },
  hooks: { afterUpdate: async () => void (await afterUpdate.pop()?.()) },
});

/** How long a request may take, and most of what its unit may. Unit: milliseconds. */
const REQUEST_MS = 4_800;
const MOST_MS = 4_300;

/** What the session of a unit does instead of the commit. */
let commit: ((own: () => Promise<void>) => Promise<void>) | undefined;
/** How much of that has passed when the unit of the route begins. Unit: milliseconds. */
let spent = 0;
/** What the function of the route does. */
let carryOut: (work: TenantScope) => Promise<Made>;

const now = performance.now.bind(performance);
const letPass = (ms: number) => void jest.spyOn(performance, 'now').mockImplementation(() => now() + ms);

@Injectable()
class MemosService extends CrudService.for(memos) {
  unit(scope: TenantScope) {
    letPass(spent);
    return this.atomically(scope, (work) => {
      const session = work.context.unit?.database.limits.session as mongo.ClientSession;
      const own = session.commitTransaction.bind(session);
      const instead = commit;
      if (instead) session.commitTransaction = () => instead(own);
      return carryOut(work);
    });
  }
  search(scope: TenantScope, q: string) {
    const search = readSearch(q, this.resource.definition.query.search, () => undefined);
    return this.page(scope, { limit: 5, search });
  }
}

class MemosController extends CrudController(memos, MemosService) {
  @CrudAction(memos, { method: 'POST', path: 'units', body: memos.input as Type, isolatedAs: 'create' })
  unit(@CurrentScope() scope: TenantScope, @Body() _body: Made) {
    return this.service.unit(scope) as never;
  }
  @CrudAction(memos, { method: 'POST', path: ':id/units', isolatedAs: 'update' })
  unitOfOne(@CurrentScope() scope: TenantScope) {
    return this.service.unit(scope);
  }
}

let stopDatabase: () => Promise<void>;
beforeAll(async () => void (stopDatabase = await separateMongodb()));
const ofMemos = { controller: MemosController, service: MemosService };
const app = useResourceApp(CrudModule.forFeature(memos, ofMemos));
afterAll(() => stopDatabase());

let service: MemosService;
beforeAll(() => void (service = serviceIn(app, memos.entity)));
const scope = scopeOf({});
const atomically: Crud['atomically'] = (...unit) => app.app.get(Crud).atomically(...unit);
beforeEach(async () => {
  await app.empty();
  commit = undefined;
  spent = 0;
});
afterEach(() => jest.restoreAllMocks());

const texts = async () => ((await app.get('/memos')).body as Made[]).map(({ text }) => text).sort();
const post = (key: string) =>
  app.post('/memos/units', { text: 'any' }, { headers: { 'Idempotency-Key': key } });

describe('an operation that a unit of work has begun and not awaited', () => {
  it('is part of it, once', async () => {
    await atomically(scope, async (work) => {
      await service.create(work, { text: 'awaited' });
      const sent = once(app.connection.getClient(), 'commandStarted');
      void service.create(work, { text: 'not awaited' });
      await sent;
    });
    expect(await texts()).toEqual(['awaited', 'not awaited']);
  });

  it('is no part of the next attempt', async () => {
    let resume!: () => void;
    const paused = new Promise<void>((resolve) => (resume = resolve));
    let late: Promise<unknown> | undefined;
    await atomically(scope, async (work) => {
      if (!late) {
        late = paused.then(() => service.create(work, { text: 'late' })).catch((error: unknown) => error);
        void service.create(work, { text: 'first attempt' }).catch(() => undefined);
        throw new WriteConflictError();
      }
      resume();
      await late;
      await service.create(work, { text: 'second attempt' });
    });
    expect(await texts()).toEqual(['second attempt']);
    expect(await late).toBeInstanceOf(WriteConflictError);
  });

  it('is an error while the unit is committed, and after that', async () => {
    const seen: unknown[] = [];
    let resume: () => void = () => undefined;
    let late: Promise<void> = Promise.resolve();
    carryOut = (work) => {
      const paused = new Promise<void>((resolve) => (resume = resolve));
      const tried = async () => {
        seen.push(await service.create(work, { text: 'late' }).catch(String));
        seen.push(await service.count(work).catch(String));
        seen.push(await service.list(work).next().catch(String));
      };
      late = paused.then(tried).then(tried);
      return service.create(work, { text: 'in time' });
    };
    commit = async (own) => {
      resume();
      await late;
      await own();
    };
    await service.unit(scope);
    expect(seen).toEqual(Array(6).fill('Error: The unit of work is over.'));
    expect(await texts()).toEqual(['in time']);
  });
});

describe('a unit of work that fails', () => {
  it('is repeated after a conflict, even if its function makes another error of that', async () => {
    const errorLabels = ['TransientTransactionError'];
    const conflict = new mongo.MongoServerError({ code: 112, errmsg: 'Write conflict', errorLabels });
    jest.spyOn(mongo.Collection.prototype, 'insertOne').mockRejectedValueOnce(conflict);
    await atomically(scope, async (work) => {
      await service.create(work, { text: 'one' }).catch(() => {
        throw new ConflictException('Something of its own.');
      });
    });
    expect(await texts()).toEqual(['one']);
  });

  it.each(['function', 'commit'])('is a 503 before its request ends if its %s does not end', async (what) => {
    const endless = () => new Promise<never>(() => undefined);
    carryOut = async (work) => {
      if (what === 'function') return endless();
      const memo = await service.create(work, { text: 'one' });
      // The commit gets no time of its own.
      letPass(REQUEST_MS);
      return memo;
    };
    commit = endless;
    spent = MOST_MS;
    const { status, body } = await post('slow');
    expect([status, body.code]).toEqual([503, 'DATABASE_UNAVAILABLE']);
    expect(await texts()).toEqual([]);
  });
});

it('keeps nobody waiting after it was given up while it waited for another one', async () => {
  const session = app.database.client.startSession();
  session.startTransaction();
  await app.database.collection('memos').insertOne({ text: 'of another one' }, { session });
  const ending = scope.with({ endsAt: performance.now() + REQUEST_MS - MOST_MS });
  await atomically(ending, (work) => service.create(work, { text: 'one' })).catch(() => undefined);
  await session.commitTransaction();
  await session.endSession();
  expect(await service.count(scope)).toBeGreaterThan(0);
});

it('searches in the transaction', async () => {
  const found = await atomically(scope, async (work) => {
    await service.create(work, { text: 'green tea' });
    return (await service.search(work, 'tea')).results.map(({ text }) => text);
  });
  expect(found).toEqual(['green tea']);
});

describe('a unit of work with a key that is committed, and not answered', () => {
  const keys = () => app.database.collection('idempotency_keys');
  type Answer = { status: number; body: unknown };
  /** Sends a request again when it is committed and not answered, as after a crash; the answer to the second one. */
  const repeated = async (send: () => Promise<Answer>): Promise<Answer> => {
    let second: Promise<Answer> | undefined;
    afterUpdate.push(async () => {
      const owner: unknown = (await keys().findOne({ owner: { $exists: true } }))?.owner;
      await keys().updateOne({ owner }, { $set: { leaseUntil: new Date(0) } });
      second = send();
      await eventually(async () => expect(await keys().countDocuments({ owner })).toBe(0));
    });
    await send();
    return second as never;
  };
  const memo = async () => String((await service.create(scope, { text: 'old' }))._id);
  const revision = async (id: string) => (await app.get(`/memos/${id}`)).headers.get('etag');

  it('changes its records once, and has the same answer', async () => {
    const id = await memo();
    carryOut = async (work) => {
      await service.create(work, { text: 'made' });
      return service.update(work, id, { text: 'new' });
    };
    const answer = await repeated(() => post('once'));
    expect(answer).toMatchObject({ status: 201, body: { _id: id, text: 'new' } });
    expect([await texts(), await revision(id)]).toEqual([['made', 'new'], '"1"']);
  });

  it('does not ask for If-Match again', async () => {
    const id = await memo();
    carryOut = (work) => service.update(work, id, { text: 'new' });
    const headers = { 'Idempotency-Key': 'tagged', 'If-Match': '"0"' };
    const { status } = await repeated(() => app.post(`/memos/${id}/units`, {}, { headers }));
    expect([status, await revision(id)]).toEqual([201, '"1"']);
  });

  it('has been committed, if it is an atomic bulk', async () => {
    const id = await memo();
    const operations = [{ create: { text: 'made' } }, { update: { _id: id, changes: { text: 'new' } } }];
    const headers = { 'Idempotency-Key': 'bulk' };
    const send = () => app.post('/memos/bulk', { atomic: true, operations }, { headers });
    const { body } = await repeated(send);
    const results = [{ status: 201, _id: expect.any(String) as string }, { status: 200 }];
    expect(body).toEqual({ committed: true, results });
    expect((await send()).body).toEqual(body);
    expect([await texts(), await revision(id)]).toEqual([['made', 'new'], '"1"']);
  });

  it('keeps its result no longer than until it is answered', async () => {
    carryOut = (work) => service.create(work, { text: 'one' });
    expect([(await post('kept')).status, (await post('kept')).status]).toEqual([201, 201]);
    expect(await texts()).toEqual(['one']);
    const results = { seed: { $exists: false } };
    await eventually(async () => expect(await keys().countDocuments(results)).toBe(0));
  });
});
