/** @mongodb */
import mongoose, { type Model, Schema } from 'mongoose';
import { CALL_DEADLINE_MS, OPERATION_LIMITS } from '../../../src/common/database/index.js';
import { DatabaseTooSlowError } from '../../../src/common/errors/index.js';
import { PlainChanges, sharedUpdates } from '../../../src/common/crud/store/shared-writes.js';
import { freshDatabaseUri } from '../../support/mongodb.js';

describe('an update that waits for another one', () => {
  const ids = [new mongoose.Types.ObjectId(), new mongoose.Types.ObjectId()] as const;
  const connection = mongoose.createConnection();
  const schema = new Schema({ title: String }, { timestamps: true });
  const model = connection.model('Waiting', schema) as unknown as Model<Record<string, unknown>>;
  const plain = new PlainChanges(model);

  beforeAll(async () => {
    await connection.openUri(freshDatabaseUri());
    await model.init();
    await model.collection.insertMany(ids.map((_id) => ({ _id, title: 'a' })));
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  const shared = () =>
    sharedUpdates(model, { limits: OPERATION_LIMITS, metrics: { batch: () => undefined } } as never);
  const writeOf = (_id: mongoose.Types.ObjectId) => ({
    make: () => plain.statementOf({ _id }, { set: { title: 'b' } }, {}),
  });

  /** Updates both records, the second one while the command of the first is in flight; `meanwhile` is before that returns. */
  async function updateBoth(meanwhile: () => void): Promise<unknown> {
    const updates = shared();
    const sent = updates.add(writeOf(ids[0]));
    // A step begins after what is added in one go.
    await Promise.resolve();
    const waiting = updates.add(writeOf(ids[1])).catch((error: unknown) => error);
    meanwhile();
    await sent;
    return waiting;
  }

  it('has the time at which it is sent, since others may have been acknowledged in between', async () => {
    const later = new Date('2100-01-01T00:00:00Z');
    const result = await updateBoth(() => jest.spyOn(mongoose, 'now').mockReturnValue(later));
    expect(result).toMatchObject({ revision: 1 });
    expect(await model.collection.findOne({ _id: ids[1] })).toMatchObject({ title: 'b', updatedAt: later });
  });

  it('is too late after the deadline, and not one of a record that is missing', async () => {
    const now = performance.now() + 2 * CALL_DEADLINE_MS;
    const result = await updateBoth(() => jest.spyOn(performance, 'now').mockReturnValue(now));
    expect(result).toBeInstanceOf(DatabaseTooSlowError);
  });
});
