import type { AccumulatorOperator } from '../aggregate/accumulator.js';
import type { ExpressionOperator } from '../aggregate/operator.js';
import type { StageOperator } from '../aggregate/stage.js';
import type { BsonDocument, BsonValue } from '../bson/types.js';
import { unsupported } from '../errors.js';
import type { Condition } from '../query/condition.js';
import type { ClauseContext, Filter } from '../query/types.js';
import type { Step } from '../update/apply.js';
import type { Modifier } from '../update/modifier.js';

/**
 * The operators of one kind. Each is a file of its own, which registers itself when `operators/index.ts` loads it; see
 * docs/add-an-operator.md.
 */
export class Registry<Definition> {
  private readonly definitions = new Map<string, Definition>();
  private readonly refused = new Set<string>();

  /** @param kind The subject of a refusal: `The stage`. */
  constructor(private readonly kind: string) {}

  /** Adds an operator. */
  define(name: string, definition: Definition): void {
    if (this.knows(name)) throw new Error(`${this.kind} ${name} is registered twice.`);
    this.definitions.set(name, definition);
  }

  /** Names operators of MongoDB that this server lacks. */
  refuse(...names: string[]): void {
    for (const name of names) {
      if (this.knows(name)) throw new Error(`${this.kind} ${name} is registered twice.`);
      this.refused.add(name);
    }
  }

  /**
   * An operator by its name.
   *
   * @returns `undefined` for a name that MongoDB does not know either
   * @throws CommandError CommandNotSupported (115) for an operator that this server lacks
   */
  find(name: string): Definition | undefined {
    if (this.refused.has(name)) throw unsupported(`${this.kind} ${name}`);
    return this.definitions.get(name);
  }

  /** Whether MongoDB has an operator of this name, which may be one that this server lacks. */
  knows(name: string): boolean {
    return this.definitions.has(name) || this.refused.has(name);
  }

  /** The names of all operators, and of those that are refused. */
  get names(): { supported: string[]; refused: string[] } {
    return { supported: [...this.definitions.keys()], refused: [...this.refused] };
  }
}

/** `{ $add: [1, 2] }`, wherever an expression may stand. */
export const expressions = new Registry<ExpressionOperator>('The expression');

/**
 * Reads what an operator asks of a field: `{ field: { $gt: 1 } }`. The siblings are the operators beside it, itself included;
 * `undefined` asks nothing.
 */
export type FieldOperator = (argument: BsonValue, siblings: BsonDocument) => Condition | undefined;

/** Operators below a field of a filter. */
export const fieldOperators = new Registry<FieldOperator>('The operator');

/** Reads an operator that stands where a filter has its fields: `{ $or: [] }`. */
export type ClauseOperator = (argument: BsonValue, context: ClauseContext) => Filter;

/** Operators in the place of a filter's fields. */
export const clauseOperators = new Registry<ClauseOperator>('The operator');

/** `{ $sum: 1 }` in a `$group`. */
export const accumulators = new Registry<AccumulatorOperator>('The accumulator');

/** Stages of pipelines. */
export const stages = new Registry<StageOperator>('The stage');

/** Reads what an operator does to the field at a path; most change that field alone, and leave its step to the caller. */
export type UpdateOperator =
  | { modifier(path: string, argument: BsonValue): Modifier }
  | { step(path: string, argument: BsonValue): Step };

/** Operators of updates: `{ $set: { field: 1 } }`. */
export const updates = new Registry<UpdateOperator>('The operator');
