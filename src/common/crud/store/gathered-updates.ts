import type { Model } from 'mongoose';
import { Batches, CALL_DEADLINE_MS, OPERATION_LIMITS } from '../../database/index.js';
import { DatabaseTooSlowError } from '../../errors/index.js';
import { causeOf, refusedBy } from './bulk-errors.js';

type Fields = Record<string, unknown>;

/** Maximum number of updates that one command carries out. Unit: updates. */
const MAX_BATCH = 1_000;

/** One update of one record, in the store's types. */
export interface PlainUpdate {
  readonly filter: Fields;
  readonly update: { readonly $set: Fields } & Readonly<Record<string, Fields>>;
  /** Name of the field with the time of the update. @default none */
  readonly updatedAt?: string;
}

interface Waiting extends PlainUpdate {
  readonly since: number;
}

/** Whether an update has found its record, or the error that prevents knowing. */
type Outcome = { readonly matched: boolean } | { readonly error: unknown };

/**
 * Carries out updates that arrive while a command is in flight with the next command. If none is in flight,
 * an update is carried out at once. Each has its own outcome. The records are not returned: that would take a
 * command for each.
 */
export class GatheredUpdates {
  private readonly batches: Batches<Waiting, Outcome>;

  /** @param counted receives the number of updates that each command carries out */
  constructor(
    private readonly model: Model<Fields>,
    counted: (size: number) => void,
  ) {
    this.batches = new Batches((batch) => this.carryOut(batch), { max: MAX_BATCH, begun: counted });
  }

  /** Whether a record matched and was changed. @throws the errors of the server */
  async update(update: PlainUpdate): Promise<boolean> {
    const outcome = await this.batches.add('updates', { ...update, since: performance.now() });
    if ('error' in outcome) throw outcome.error;
    return outcome.matched;
  }

  private async carryOut(batch: readonly Waiting[]): Promise<readonly Outcome[]> {
    const oldest = performance.now() - CALL_DEADLINE_MS;
    const isLate = ({ since }: Waiting) => since <= oldest;
    const due = batch.filter((one) => !isLate(one));
    const outcomes = due.length === 1 ? await Promise.all(due.map(this.alone)) : await this.together(due);
    const results = outcomes[Symbol.iterator]();
    // The callers of the others are told that the database is too slow.
    return batch.map((one) =>
      isLate(one) ? { error: new DatabaseTooSlowError() } : (results.next().value as Outcome),
    );
  }

  private readonly alone = async (one: PlainUpdate): Promise<Outcome> => {
    const { filter, update } = this.stamped(one);
    try {
      const { matchedCount } = await this.model.collection.updateOne(filter, update, { ...OPERATION_LIMITS });
      return { matched: matchedCount > 0 };
    } catch (error) {
      return { error };
    }
  };

  /**
   * The server returns how many updates matched, but not which; only errors have a position. So an update
   * without a match is made to fail: as an upsert whose new record would have another identifier than its
   * filter, which the server refuses.
   */
  private async together(batch: readonly PlainUpdate[]): Promise<readonly Outcome[]> {
    const refusal = { $setOnInsert: { _id: null } };
    const operations = batch.map((one) => {
      const { filter, update } = this.stamped(one);
      return { updateOne: { filter, update: { ...update, ...refusal }, upsert: true } };
    });
    try {
      await this.model.collection.bulkWrite(operations, { ...OPERATION_LIMITS, ordered: false });
      return batch.map(() => ({ matched: true }));
    } catch (error) {
      const refused = refusedBy(error);
      // A refused update has changed nothing, whatever the reason. Sent alone, it gets the server's reason.
      return Promise.all(
        batch.map((one, i) =>
          !refused ? { error: causeOf(error) } : refused.has(i) ? this.alone(one) : { matched: true },
        ),
      );
    }
  }

  /**
   * An update with the current time: it may have begun to wait before a write that is already acknowledged.
   */
  private stamped({ filter, update, updatedAt }: PlainUpdate): Pick<PlainUpdate, 'filter' | 'update'> {
    if (updatedAt === undefined) return { filter, update };
    return { filter, update: { ...update, $set: { ...update.$set, [updatedAt]: this.now() } } };
  }

  private now(): Date {
    return new Date(this.model.base.now());
  }
}
