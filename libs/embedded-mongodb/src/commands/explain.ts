import { Double } from 'bson';
import { type BsonDocument, type BsonValue, toBson, toBsonValue } from '../bson/types.js';
import { typeMismatch, unsupported } from '../errors.js';
import type { Access, IndexScan } from '../planner/plan.js';
import { Query, type QueryRequest } from '../planner/query.js';
import { type Reply, replyOf } from '../wire/reply.js';
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
 * Describes how a command would be carried out, in the format of MongoDB's classic engine:
 * `queryPlanner.winningPlan` with its stages, and `executionStats` unless the verbosity is `queryPlanner`.
 *
 * @see https://www.mongodb.com/docs/manual/reference/command/explain/
 */
export async function explain(command: Command, engine: Engine): Promise<Reply> {
  const inner = command.document('explain');
  if (!inner) throw typeMismatch("BSON field 'explain.explain' is missing but a required field");
  return explanation(command, inner, command.body.get('verbosity') !== 'queryPlanner', engine);
}

/** The reply to an `aggregate` command with `explain: true`: its plan, without documents. */
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
  return replyOf({
    explainVersion: '1',
    queryPlanner: {
      namespace: explained.namespace,
      indexFilterSet: false,
      parsedQuery: query.request.filter,
      winningPlan: winningPlan(query, above),
      rejectedPlans: [],
    },
    executionStats: executes ? await execution(command, query, above) : undefined,
    command: inner,
  });
}

function explainedQuery(command: Command, engine: Engine): Explained {
  const queryOf = (request: QueryRequest): Query =>
    new Query(engine.store, engine.catalog.find(command.namespace), request);
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
      return { query: queryOf(readUpdate(statement)), above: ['UPDATE'] };
    }
    case 'delete': {
      const [statement = new Map()] = statementsOf(command, 'deletes');
      return { query: queryOf(readDelete(statement)), above: ['DELETE'] };
    }
    case 'findAndModify':
    case 'findandmodify':
      return {
        query: queryOf(findAndModifyRequest(command)),
        above: [command.looseFlag('remove') ? 'DELETE' : 'UPDATE'],
      };
    default:
      throw unsupported(`explain of ${command.name}`);
  }
}

function planStage(stage: string, fields: Record<string, unknown>): PlanStage {
  return toBson({ stage, ...fields });
}

function winningPlan({ plan, request }: Query, above: readonly string[]): PlanStage {
  const { access, exact, sorted } = plan;
  const counts = above.includes('COUNT') && access.kind === 'ixscan' && exact;
  let inner = counts ? indexStage('COUNT_SCAN', access) : accessStage(access);
  if (!sorted && request.sort)
    inner = planStage('SORT', { sortPattern: request.sort, type: 'simple', inputStage: inner });
  const around = [...above, ...(request.limit ? ['LIMIT'] : []), ...(request.skip ? ['SKIP'] : [])];
  return around.reduceRight((inputStage, stage) => planStage(stage, { inputStage }), inner);
}

function accessStage(access: Access): PlanStage {
  switch (access.kind) {
    case 'eof':
      return planStage('EOF', {});
    case 'collscan':
      return planStage('COLLSCAN', { direction: access.reverse ? 'backward' : 'forward' });
    case 'idhack':
      return planStage('IDHACK', {});
    case 'or': {
      const inputStages = access.branches.map((branch) => indexStage('IXSCAN', branch));
      return planStage('FETCH', { inputStage: planStage('OR', { inputStages }) });
    }
    case 'ixscan':
      return planStage('FETCH', { inputStage: indexStage('IXSCAN', access) });
  }
}

function indexStage(stage: string, { index, reverse }: IndexScan): PlanStage {
  const { key, unique, sparse, partial } = index.definition;
  return planStage(stage, {
    keyPattern: key,
    indexName: index.name,
    isMultiKey: index.multikey,
    isUnique: unique,
    isSparse: sparse,
    isPartial: partial !== undefined,
    indexVersion: 2,
    direction: reverse ? 'backward' : 'forward',
  });
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
  const stages = winningPlan(query, above);
  stages.set('nReturned', toBsonValue(returned));
  return toBson({
    executionSuccess: true,
    nReturned: returned,
    executionTimeMillis: new Double(Math.round(performance.now() - began)),
    totalKeysExamined: keysExamined,
    totalDocsExamined: docsExamined,
    executionStages: stages,
  });
}
