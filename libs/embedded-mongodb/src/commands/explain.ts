import { Double, Int32 } from 'bson';
import { type BsonDocument, type BsonValue, isDocument, toBsonValue } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import type { Access, IndexScan } from '../planner/plan.js';
import { Query } from '../planner/query.js';
import type { Reply } from '../wire/reply.js';
import { aggregation } from './aggregate.js';
import { Command, type Engine } from './context.js';
import { countQuery, distinctQuery } from './count.js';
import { findAndModifyRequest } from './find-and-modify.js';
import { findQuery } from './find.js';
import { readDelete, readUpdate, statementsOf } from './update.js';

/** A stage of a plan, as MongoDB names it. */
type PlanStage = Map<string, BsonValue>;

/** A command to explain: its query, and the stages above it. */
interface Explained {
  query: Query;
  /** Outermost first. */
  above: string[];
}

/**
 * Says how a command would be carried out, in the shape of MongoDB's classic engine: `queryPlanner.winningPlan` with its
 * stages, and `executionStats` unless the verbosity is `queryPlanner`.
 *
 * @see https://www.mongodb.com/docs/manual/reference/command/explain/
 */
export async function explain(command: Command, engine: Engine): Promise<Reply> {
  const inner = command.document('explain');
  if (!inner) throw failure('TypeMismatch', "BSON field 'explain.explain' is missing but a required field");
  return explanation(command, inner, command.body.get('verbosity') !== 'queryPlanner', engine);
}

/** The answer to an `aggregate` command with `explain: true`: its plan, and none of its documents. */
export function explainAggregate(command: Command, engine: Engine): Promise<Reply> {
  return explanation(command, command.body, false, engine);
}

async function explanation(
  command: Command,
  inner: BsonDocument,
  executes: boolean,
  engine: Engine,
): Promise<Reply> {
  const explained = new Command(
    new Map([...inner, ['$db', command.database]]),
    new Map(),
    command.connectionId,
  );
  const { query, above } = explainedQuery(explained, engine);
  const planner: BsonDocument = new Map<string, BsonValue>([
    ['namespace', explained.namespace],
    ['indexFilterSet', false],
    ['parsedQuery', query.request.filter],
    ['winningPlan', winningPlan(query, above)],
    ['rejectedPlans', []],
  ]);
  const reply: Reply = new Map<string, BsonValue>([
    ['explainVersion', '1'],
    ['queryPlanner', planner],
  ]) as Reply;
  if (executes) reply.set('executionStats', await execution(command, query, above));
  reply.set('command', inner);
  return reply;
}

function explainedQuery(command: Command, engine: Engine): Explained {
  const { store, catalog } = engine;
  switch (command.name) {
    case 'find':
      return {
        query: findQuery(command, engine),
        above: command.document('projection') ? ['PROJECTION_DEFAULT'] : [],
      };
    case 'count':
      return { query: countQuery(command, engine), above: ['COUNT'] };
    case 'distinct':
      return { query: distinctQuery(command, engine), above: [] };
    case 'aggregate': {
      const { query, counts } = aggregation(command, engine);
      return { query, above: counts ? ['COUNT'] : [] };
    }
    case 'update': {
      const [statement = new Map()] = statementsOf(command, 'updates');
      const { filter, hint, variables } = readUpdate(statement, command.variables());
      return {
        query: new Query(store, catalog.find(command.namespace), { filter, hint, variables }),
        above: ['UPDATE'],
      };
    }
    case 'delete': {
      const [statement = new Map()] = statementsOf(command, 'deletes');
      const { filter, hint } = readDelete(statement);
      const variables = command.variables();
      return {
        query: new Query(store, catalog.find(command.namespace), { filter, hint, variables }),
        above: ['DELETE'],
      };
    }
    case 'findAndModify':
    case 'findandmodify': {
      const above = [command.looseFlag('remove') ? 'DELETE' : 'UPDATE'];
      return {
        query: new Query(store, catalog.find(command.namespace), findAndModifyRequest(command)),
        above,
      };
    }
    default:
      throw unsupported(`explain of ${command.name}`);
  }
}

function winningPlan(query: Query, above: readonly string[]): PlanStage {
  const { plan, request } = query;
  const counts = above.includes('COUNT');
  const around = [...above, ...(request.limit ? ['LIMIT'] : []), ...(request.skip ? ['SKIP'] : [])];
  let inner = counts ? countStage(query) : accessStage(plan.access);
  if (!plan.sorted && request.sort) {
    inner = new Map<string, BsonValue>([
      ['stage', 'SORT'],
      ['sortPattern', request.sort],
      ['type', 'simple'],
      ['inputStage', inner],
    ]);
  }
  return around.reduceRight(
    (input, stage) =>
      new Map<string, BsonValue>([
        ['stage', stage],
        ['inputStage', input],
      ]),
    inner,
  );
}

function countStage({ plan: { access, exact } }: Query): PlanStage {
  if (access.kind === 'ixscan' && exact) return indexStage('COUNT_SCAN', access);
  return accessStage(access);
}

function accessStage(access: Access): PlanStage {
  switch (access.kind) {
    case 'eof':
      return new Map([['stage', 'EOF']]);
    case 'collscan':
      return new Map([
        ['stage', 'COLLSCAN'],
        ['direction', access.reverse ? 'backward' : 'forward'],
      ]);
    case 'idhack':
      return new Map([['stage', 'IDHACK']]);
    case 'or':
      return fetch(
        new Map<string, BsonValue>([
          ['stage', 'OR'],
          ['inputStages', access.branches.map((branch) => indexStage('IXSCAN', branch))],
        ]),
      );
    case 'ixscan':
      return fetch(indexStage('IXSCAN', access));
  }
}

function fetch(input: PlanStage): PlanStage {
  return new Map<string, BsonValue>([
    ['stage', 'FETCH'],
    ['inputStage', input],
  ]);
}

function indexStage(stage: string, { index, reverse }: IndexScan): PlanStage {
  const { definition } = index;
  return new Map<string, BsonValue>([
    ['stage', stage],
    ['keyPattern', definition.key],
    ['indexName', index.name],
    ['isMultiKey', index.multikey],
    ['isUnique', definition.unique],
    ['isSparse', definition.sparse],
    ['isPartial', definition.partial !== undefined],
    ['indexVersion', new Int32(2)],
    ['direction', reverse ? 'backward' : 'forward'],
  ]);
}

async function execution({ pauses }: Command, query: Query, above: readonly string[]): Promise<BsonDocument> {
  const began = performance.now();
  let returned = 0;
  if (above.includes('COUNT')) {
    for (const step of query.count()) if (step === undefined) await pauses.breathe(query.scan);
  } else {
    for (const match of query.matches()) {
      if (match) returned++;
      await pauses.breathe(query.scan);
    }
  }
  const { keysExamined, docsExamined } = query.scan.work;
  const plan = winningPlan(query, above);
  plan.set('nReturned', toBsonValue(returned));
  return new Map<string, BsonValue>([
    ['executionSuccess', true],
    ['nReturned', toBsonValue(returned)],
    ['executionTimeMillis', new Double(Math.round(performance.now() - began))],
    ['totalKeysExamined', toBsonValue(keysExamined)],
    ['totalDocsExamined', toBsonValue(docsExamined)],
    ['executionStages', isDocument(plan) ? plan : new Map()],
  ]);
}
