/** @mongodb */
import { Body, Injectable, Param, type Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import {
  type AggregationStage,
  type Changes,
  CrudAction,
  CrudController,
  CrudModule,
  CrudService,
  InjectCrudService,
  Outboxes,
  patchOf,
} from '../../../src/common/crud/index.js';
import { InvalidIdError } from '../../../src/common/errors/index.js';
import { IsText, IsTimestamp } from '../../../src/common/fields/index.js';
import { CurrentScope, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme, GLOBEX, globex } from '../../support/tenants.js';

const ofTenant = {
  ...OF_TENANT,
  kept: { tenant: Prop({ type: String }), deletedAt: IsTimestamp({ optional: true }) },
};
const notes = resource({ name: 'notes', ...ofTenant, archive: { field: 'deletedAt' }, events: true });
const boards = resource({ name: 'boards', ...ofTenant });
const NotePatch = patchOf(notes.input as Type<Made>);

@Injectable()
class BoardsService extends CrudService.for(boards) {
  stages = (...args: Parameters<typeof this.aggregate>) => this.aggregate(...args);
}

@Injectable()
class BoardsController extends CrudController(boards, BoardsService) {
  constructor(@InjectCrudService(notes.entity) private readonly notes: CrudService<Made, Made>) {
    super();
  }

  @CrudAction(boards, { method: 'PATCH', path: 'notes', body: NotePatch, isolatedAs: 'update' })
  async change(@CurrentScope() scope: TenantScope, @Body() changes: Changes<Made>) {
    for await (const note of this.notes.list(scope)) return this.notes.update(scope, note._id, changes);
    return {};
  }
}

const notesModule = CrudModule.forFeature(notes);
const gates = resource({
  name: 'gates',
  fields: { name: IsText({ max: 20 }), state: IsText({ max: 20, optional: true }) },
  ...OF_TENANT,
});

@Injectable()
class GatesService extends CrudService.for(gates) {
  async paint(scope: TenantScope, id: string) {
    await this.update(scope, id, { state: 'wet' });
    return this.change('update', scope, id, { set: { state: 'dry' } });
  }

  async replace(scope: TenantScope, id: string) {
    const painted = await this.atomically(scope, (work) => this.paint(work, id));
    await this.update(scope, id, { name: 'New' });
    await this.del(scope, id);
    return painted;
  }
}
class GatesController extends CrudController(gates, GatesService) {
  @CrudAction(gates, { method: 'PUT', path: ':id/paint', isolatedAs: 'update' })
  paint(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.paint(scope, id);
  }
  @CrudAction(gates, { method: 'PUT', path: ':id/paint-at-once', isolatedAs: 'update' })
  paintAtOnce(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.atomically(scope, (work) => this.service.paint(work, id));
  }
  @CrudAction(gates, { method: 'PUT', path: ':id/look', isolatedAs: 'update' })
  look(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.get(scope, id);
  }
  @CrudAction(gates, { method: 'PUT', path: ':id/replace', isolatedAs: 'update' })
  replace(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.replace(scope, id);
  }
}

const ofBoards = { controller: BoardsController, service: BoardsService, imports: [notesModule] };
const app = useResourceApp(
  notesModule,
  CrudModule.forFeature(boards, ofBoards),
  CrudModule.forFeature(gates, { controller: GatesController, service: GatesService }),
);
beforeEach(() => app.empty());
const scope = scopeOf({ tenant: ACME });

describe('a verb of a service for a single record', () => {
  const NO_IDS = [undefined, null, '', 5, '1', { $ne: null }, [ACME], { _bsontype: 'ObjectId' }];
  it.each(NO_IDS)('refuses the id %j, and touches none', async (id) => {
    const service = serviceIn(app, boards.entity);
    await service.create(scope, { text: 'Buy stamps' });
    const wrong = id as unknown as string;
    await expect(service.get(scope, wrong)).rejects.toThrow(InvalidIdError);
    await expect(service.update(scope, wrong, { text: 'Sell' })).rejects.toThrow(InvalidIdError);
    await expect(service.del(scope, wrong)).rejects.toThrow(InvalidIdError);
    expect(await app.database.collection('boards').distinct('text')).toEqual(['Buy stamps']);
  });
});

describe('purge', () => {
  type Work = (scope: TenantScope) => Promise<void>;
  let service: CrudService<Made, Made>;
  beforeAll(() => void (service = serviceIn(app, notes.entity)));
  const note = async () => (await service.create(scope, { text: 'a note' }))._id;

  it('removes an archived record of the scope', async () => {
    const id = await note();
    const notFound = { code: 'RECORD_NOT_FOUND' };
    await expect(service.purge(scope, id)).rejects.toMatchObject(notFound);
    await service.archive(scope, id);
    // As if its events were delivered.
    await app.database.collection('notes').updateMany({}, { $unset: { _outbox: 1 } });
    await expect(service.purge(scopeOf({ tenant: GLOBEX }), id)).rejects.toMatchObject(notFound);
    const stale = service.purge(scope, id, { ifMatch: '"7"' });
    await expect(stale).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    expect(await service.purge(scope, id)).toMatchObject({ _id: id });
    await expect(service.get(scope, id, { archived: 'only' })).rejects.toMatchObject(notFound);
  });

  it.each([
    ['after', (work: Work) => work(scope)],
    ['in one unit of work with', (work: Work) => service.atomically(scope, work)],
  ])('%s archiving keeps the events that subscribers are still to be told of', async (_when, carryOut) => {
    const id = await note();
    await carryOut(async (work) => {
      await service.archive(work, id);
      await service.purge(work, id);
    });
    const outbox = app.app.get(Outboxes, { strict: false }).of('notes');
    const record = { _id: String(id), text: 'a note' };
    const told = ['create', 'del'].map((action) => ({ action, record }));
    expect(await outbox?.pending(new Date('2100-01-01'), 10)).toMatchObject(told);
    expect(await app.database.collection('notes').countDocuments({})).toBe(0);
  });
});

it.each([
  [{ $lookup: { from: 'notes', as: 'notes', pipeline: [] } }],
  [{ $facet: { all: [{ $unionWith: 'notes' }] } }],
  [{ $out: 'copies' }],
])('an aggregation does not leave its scope by %j', async (stage) => {
  const stages = app.app.get(BoardsService).stages(scope, [stage as AggregationStage]);
  await expect(stages).rejects.toThrow('leaves the scope');
});

describe('If-Match on a route of your own', () => {
  it.each(['paint', 'paint-at-once', 'replace'])('means the record before all writes: %s', async (route) => {
    const id = await app.create('/gates', { name: 'North' }, acme);
    const put = (tag: string) =>
      app.request('PUT', `/gates/${id}/${route}`, { token: acme, headers: { 'If-Match': tag } });
    expect((await put('"1"')).status).toBe(412);
    expect((await app.get(`/gates/${id}`, { token: acme })).body).not.toHaveProperty('state');
    const { status, body, headers } = await put('"0"');
    expect([status, body.state, headers.get('etag')]).toEqual([200, 'dry', '"2"']);
  });

  it('is asked for where the route writes nothing, and finds no record of others', async () => {
    const id = await app.create('/gates', { name: 'North' }, acme);
    const look = async (tag: string, token = acme) =>
      (await app.request('PUT', `/gates/${id}/look`, { token, headers: { 'If-Match': tag } })).status;
    expect([await look('"1"'), await look('"0"'), await look('"1"', globex)]).toEqual([412, 200, 404]);
  });

  it('without an identifier is about the resource of its route alone', async () => {
    const id = await app.create('/notes', { text: 'old' }, acme);
    const headers = { 'if-match': '"7"' };
    expect((await app.patch('/boards/notes', { text: 'new' }, { token: acme, headers })).status).toBe(200);
    expect((await app.get(`/notes/${id}`, { token: acme })).body.text).toBe('new');
  });
});
