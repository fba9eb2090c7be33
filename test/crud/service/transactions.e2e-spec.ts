/** @mongodb */
import { type CallHandler, Injectable, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { InjectConnection, Prop } from '@nestjs/mongoose';
import mongoose, { type Connection, type Types } from 'mongoose';
import { from, lastValueFrom } from 'rxjs';
import { CrudModule, CrudService } from '../../../src/common/crud/index.js';
import { CRUD_CONNECTION } from '../../../src/common/database/index.js';
import { scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme as token } from '../../support/tenants.js';

/** Carries out a request in a transaction. */
@Injectable()
class InTransaction implements NestInterceptor {
  constructor(@InjectConnection(CRUD_CONNECTION) private readonly connection: Connection) {}

  intercept(_context: unknown, next: CallHandler) {
    return from(this.connection.transaction(() => lastValueFrom(next.handle())));
  }
}

const inTransaction = { decorators: [UseInterceptors(InTransaction)] };
const letters = resource({
  name: 'letters',
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, archivedAt: Prop({ type: Date }) },
  archive: { field: 'archivedAt' },
  bulk: true,
  routes: { create: inTransaction, bulk: inTransaction },
});

@Injectable()
class LettersService extends CrudService.for(letters) {
  stamp(scope: TenantScope, id: Types.ObjectId) {
    return this.change('update', scope, id, { set: { text: 'Stamped' } });
  }
}

const scope = scopeOf({ tenant: ACME });

const REFUSAL =
  'Letter is written inside a transaction of Mongoose, which the verbs of its service do not take part in. Call the verb before or after the transaction, or write with the model and the session of the transaction.';

/** The verbs that write. */
const VERBS: Record<string, (service: LettersService, id: Types.ObjectId) => Promise<unknown>> = {
  create: (service) => service.create(scope, { text: 'New' }),
  update: (service, id) => service.update(scope, id, { text: 'New' }),
  del: (service, id) => service.del(scope, id),
  archive: (service, id) => service.archive(scope, id),
  restore: (service, id) => service.restore(scope, id),
  change: (service, id) => service.stamp(scope, id),
};

/** The ways to a transaction. */
const WAYS: Record<string, (connection: Connection, work: () => Promise<unknown>) => Promise<unknown>> = {
  'connection.transaction': (connection, work) => connection.transaction(work),
  'session.withTransaction': async (connection, work) => {
    const session = await connection.startSession();
    return session.withTransaction(work).finally(() => session.endSession());
  },
  'connection.withSession': (connection, work) =>
    connection.withSession((session) => session.withTransaction(work)),
  'session.startTransaction': async (connection, work) => {
    const session = await connection.model(letters.entity.name).startSession();
    session.startTransaction();
    return work().finally(() => session.endSession());
  },
};

describe('a verb that is called inside a transaction of Mongoose', () => {
  let service: LettersService;
  const overrides = { service: LettersService, providers: [InTransaction] };
  const app = useResourceApp(CrudModule.forFeature(letters, overrides));
  beforeAll(() => void (service = serviceIn(app, letters.entity)));
  beforeEach(() => app.empty());

  const stored = () => app.database.collection('letters').find().toArray();

  describe.each([false, true])('with transactionAsyncLocalStorage: %s', (isOn) => {
    beforeAll(() => void mongoose.set('transactionAsyncLocalStorage', isOn));
    afterAll(() => void mongoose.set('transactionAsyncLocalStorage', false));

    describe.each(Object.entries(WAYS))('in %s', (_way, run) => {
      it.each(Object.entries(VERBS))('is refused and stores nothing: %s', async (verb, call) => {
        const { _id } = await service.create(scope, { text: 'Old' });
        if (verb === 'restore') await service.archive(scope, _id);
        const before = await stored();
        await expect(run(app.connection, () => call(service, _id))).rejects.toThrow(new Error(REFUSAL));
        expect(await stored()).toEqual(before);
      });
    });
  });

  it('is refused in a request, too, alone and in bulk', async () => {
    expect((await app.post('/letters', { text: 'A' }, { token })).status).toBe(500);
    const { body } = await app.post('/letters/bulk', { operations: [{ create: { text: 'A' } }] }, { token });
    expect(body.results).toMatchObject([{ status: 500 }]);
    expect(await stored()).toEqual([]);
  });

  it('works beside it, and after it', async () => {
    let leave!: () => void;
    const left = new Promise<void>((resolve) => (leave = resolve));
    const after = app.connection.transaction(() => left).then(() => service.create(scope, { text: 'After' }));
    await service.create(scope, { text: 'Beside' });
    leave();
    await after;
    const session = await app.connection.startSession();
    session.startTransaction();
    await session.abortTransaction();
    await service.create(scope, { text: 'Aborted' });
    await session.endSession();
    expect((await stored()).map(({ text }) => text as string)).toEqual(['Beside', 'After', 'Aborted']);
  });
});
