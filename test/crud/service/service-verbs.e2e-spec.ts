/** @mongodb */
import { Body, Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import {
  type AggregationStage,
  type Changes,
  CrudAction,
  CrudController,
  CrudModule,
  type CrudService,
  CrudService as Service,
  getCrudServiceToken,
  InjectCrudService,
  Outboxes,
  patchOf,
} from '../../../src/common/crud/index.js';
import { PreconditionFailedError, RecordNotFoundError } from '../../../src/common/errors/index.js';
import { IsTimestamp } from '../../../src/common/fields/index.js';
import { CurrentScope, currentTenant, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { type Made, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const kept = { tenant: Prop({ type: String }), deletedAt: IsTimestamp({ optional: true }) };
const isolationFields = { all: { tenant: currentTenant } };
const notes = resource({
  name: 'notes',
  kept,
  isolationFields,
  archive: { field: 'deletedAt' },
  events: true,
});
const boards = resource({ name: 'boards', kept, isolationFields });

@Injectable()
class BoardsService extends Service.for(boards) {
  stages(scope: TenantScope, stages: readonly AggregationStage[]) {
    return this.aggregate(scope, stages);
  }
}

@Injectable()
class BoardsController extends CrudController(boards, BoardsService) {
  constructor(@InjectCrudService(notes.entity) private readonly notes: CrudService<Made, Made>) {
    super();
  }

  @CrudAction(boards, {
    method: 'PATCH',
    path: 'notes',
    body: patchOf(notes.input as never),
    isolatedAs: 'update',
  })
  async change(@CurrentScope() scope: TenantScope, @Body() changes: Changes<Made>) {
    for await (const note of this.notes.list(scope)) return this.notes.update(scope, note._id, changes);
    return {};
  }
}

const notesModule = CrudModule.forFeature(notes);
const app = useResourceApp(
  notesModule,
  CrudModule.forFeature(boards, {
    controller: BoardsController,
    service: BoardsService,
    imports: [notesModule],
  }),
);
const scope = scopeOf({ tenant: ACME });
const service = () => app.app.get<CrudService<Made, Made>>(getCrudServiceToken(notes.entity));
const note = async () => (await service().create(scope, { text: 'a note' }))._id;
/** Does what delivers events. */
const settle = () => app.database.collection('notes').updateMany({}, { $unset: { _outbox: 1 } });
beforeEach(() => app.empty());

type Work = (scope: TenantScope) => Promise<void>;

describe('purge', () => {
  it('removes an archived record of the scope', async () => {
    const id = await note();
    await expect(service().purge(scope, id)).rejects.toThrow(RecordNotFoundError);
    await service().archive(scope, id);
    await settle();
    await expect(service().purge(scopeOf({ tenant: GLOBEX }), id)).rejects.toThrow(RecordNotFoundError);
    await expect(service().purge(scope, id, { ifMatch: '"7"' })).rejects.toThrow(PreconditionFailedError);
    expect(await service().purge(scope, id)).toMatchObject({ _id: id });
    await expect(service().get(scope, id, { archived: 'only' })).rejects.toThrow(RecordNotFoundError);
  });

  it.each([
    ['after', (work: Work) => work(scope)],
    ['in one unit of work with', (work: Work) => service().atomically(scope, work)],
  ])('%s archiving keeps the events that subscribers are still to be told of', async (_when, carryOut) => {
    const id = await note();
    await carryOut(async (work) => {
      await service().archive(work, id);
      await service().purge(work, id);
    });
    const outbox = app.app.get(Outboxes, { strict: false }).of('notes');
    const told = await outbox?.pending(new Date('2100-01-01'), 10);
    expect(told?.map(({ action, record }) => [action, record])).toMatchObject([
      ['create', { _id: String(id), text: 'a note' }],
      ['del', { _id: String(id), text: 'a note' }],
    ]);
    expect(await app.database.collection('notes').countDocuments({})).toBe(0);
  });
});

describe('an aggregation', () => {
  it.each([
    [{ $lookup: { from: 'notes', as: 'notes', pipeline: [] } }],
    [{ $facet: { all: [{ $unionWith: 'notes' }] } }],
    [{ $out: 'copies' }],
  ])('does not leave its scope by %j', async (stage) => {
    const boardsService = app.app.get(BoardsService);
    await expect(boardsService.stages(scope, [stage as AggregationStage])).rejects.toThrow(
      'leaves the scope',
    );
  });
});

it('an If-Match without an identifier is about the resource of its route alone', async () => {
  const id = await note();
  const headers = { 'if-match': '"7"' };
  const { status } = await app.patch(
    '/boards/notes',
    { text: 'new' },
    { token: await tokenOf(ACME), headers },
  );
  expect(status).toBe(200);
  expect((await service().get(scope, id)).text).toBe('new');
});
