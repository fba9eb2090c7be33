import { Decimal128, Double, EJSON, Int32, Long } from 'bson';
import type { Document } from 'mongodb';
import { startTestServer, type TestServer } from './support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const decimal = (text: string): Decimal128 => Decimal128.fromString(text);
const typed = (value: unknown): string => EJSON.stringify({ value }, { relaxed: false });
const ten = new Date(10);
const values = { a: [{ b: 1 }, { b: 2 }, { b: [3, 4] }, 5, [{ b: 6 }]] };

// What is expected is what a MongoDB 7.0 gives.
describe('expressions', () => {
  it.each<[string, unknown]>([
    ['$a.b', [1, 2, [3, 4]]],
    ['$$ROOT.a.b', [1, 2, [3, 4]]],
    ['$a.0.b', []],
  ])('follow the path %s through arrays', async (expression, expected) => {
    const found = await server.evaluate(expression, values);
    const plain: unknown = JSON.parse(JSON.stringify(found));
    expect(plain).toEqual(expected);
  });

  it('store the values of such a path in an update', async () => {
    const names = await server.filled([{ _id: 1, ...values } as Document]);
    await names.updateOne({}, [{ $set: { copy: '$a.b' } }]);
    expect(await names.findOne({}, { projection: { _id: 0, copy: 1 } })).toEqual({ copy: [1, 2, [3, 4]] });
  });

  it.each<[Document, unknown]>([
    [{ $subtract: [ten, new Date(7)] }, Long.fromNumber(3)],
    [{ $eq: ['$$NOW', '$$NOW'] }, true],
    [{ $add: [2_147_483_647, 1, -1] }, new Int32(2_147_483_647)],
    [{ $multiply: [-7, 0, { $add: ['$n', new Double(1)] }] }, new Double(0)],
    [{ $add: [null, 'a'] }, null],
    [{ $add: ['$none', { $divide: [1, { $subtract: ['$n', '$n'] }] }] }, null],
  ])('%j gives a value of the type that MongoDB gives', async (expression, expected) => {
    expect(typed(await server.evaluate(expression, { n: 1 }))).toBe(typed(expected));
  });

  it.each<[Document, number]>([
    [{ $let: { vars: { x: 1 }, in: '$$x' } }, 115],
    [{ $map: { input: [], in: 1 } }, 115],
    [{ $add: [ten, 1] }, 115],
    [{ $add: [1, decimal('1')] }, 115],
    [{ $multiply: [decimal('1'), 1] }, 115],
    [{ $subtract: [1, decimal('1')] }, 115],
    [{ $divide: [1, decimal('1')] }, 115],
    [{ $subtract: [ten, 1] }, 115],
    [{ $year: ten }, 115],
    [{ $setUnion: [[1], [2]] }, 115],
    [{ $add: ['a', null] }, 14],
    [{ $concat: ['$none', 'a', 1] }, 16_702],
    [{ $cond: [true, 1, { $subtract: [{ $ifNull: [null, 'a'] }, 1] }] }, 14],
  ])('%j fails with %d', async (expression, code) => {
    await expect(server.evaluate(expression)).rejects.toMatchObject({ code: new Int32(code) });
  });

  it('are evaluated in order in an update, where no constant decides beforehand', async () => {
    const failing = { $in: [null, '$none'] };
    const set = async (expression: Document): Promise<unknown> => {
      const names = await server.filled([{ _id: 1 } as Document]);
      await names.updateOne({}, [{ $set: { r: expression } }]);
      return (await names.findOne())?.r;
    };
    await expect(set({ $or: [failing, true] })).rejects.toMatchObject({ code: 40_081 });
    await expect(set({ $and: [failing, false] })).rejects.toMatchObject({ code: 40_081 });
    expect(await set({ $or: [true, failing] })).toBe(true);
    expect(await set({ $concat: ['$none', 'a', 1] })).toBeNull();
    const nobody = server.database.collection('nobody');
    await expect(nobody.updateOne({}, [{ $set: { r: { $divide: [1, 0] } } }])).resolves.toBeDefined();
  });
});
