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
    [{ $subtract: ['$ten', new Date(7)] }, Long.fromNumber(3)],
    [{ $add: [2_147_483_647, '$n', -1] }, new Int32(2_147_483_647)],
    [{ $multiply: [0, { $add: ['$n', new Double(1)] }] }, new Double(0)],
    // Rounded with each factor, once one is floating; the exact product would round to …980.
    [{ $multiply: ['$long', 3, { $add: ['$n', new Double(0)] }] }, new Double(27_021_597_764_222_976)],
    [{ $add: [null, '$text'] }, null],
    [{ $concat: ['$text', '-', '$text', '-'] }, 'a-a-'],
    [{ $cond: [{ $gt: ['$n', 0] }, '$$REMOVE', 1] }, undefined],
    [{ $add: ['$none', { $divide: [1, { $subtract: ['$n', '$n'] }] }] }, null],
  ])('%j gives a value of the type that MongoDB gives', async (expression, expected) => {
    const fields = { n: 1, long: Long.fromString('9007199254740993'), text: 'a', ten };
    expect(typed(await server.evaluate(expression, fields))).toBe(typed(expected));
  });

  it.each<[Document, number]>([
    [{ $let: { vars: { x: 1 }, in: '$$x' } }, 115],
    [{ $map: { input: [], in: 1 } }, 115],
    [{ $add: ['$ten', 1] }, 115],
    [{ $add: ['$n', decimal('1')] }, 115],
    [{ $multiply: [decimal('1'), '$n'] }, 115],
    [{ $subtract: ['$n', decimal('1')] }, 115],
    [{ $divide: ['$n', decimal('1')] }, 115],
    [{ $subtract: ['$ten', 1] }, 115],
    [{ $year: ten }, 115],
    [{ $setUnion: [[1], [2]] }, 115],
    [{ $eq: ['$$NOW', '$ten'] }, 115],
    [{ $add: ['$text', null] }, 14],
    [{ $concat: ['$n', 'a'] }, 16_702],
    [{ $in: [null, '$none'] }, 40_081],
  ])('%j fails with %d', async (expression, code) => {
    await expect(server.evaluate(expression, { n: 1, text: 'a', ten })).rejects.toMatchObject({
      code: new Int32(code),
    });
  });

  // MongoDB computes these before it reads a document, which decides about types, rounding and which errors show.
  it.each<Document>([
    { $add: [] },
    { $add: [1, 2] },
    { $add: ['$n', 1, 2] },
    { $concat: ['a', 'b', '$text'] },
    { $eq: [[1, { a: 1 }], { $literal: 2 }] },
    { $size: [[1, 2]] },
    { $and: [] },
    { $and: ['$n', false] },
    { $or: [true, '$n'] },
    { $cond: [true, '$n', 2] },
    { $ifNull: [null, '$n'] },
  ])('%j is refused for its constants', async (expression) => {
    const evaluated = server.evaluate(expression, { n: 1, text: 'a' });
    await expect(evaluated).rejects.toMatchObject({ code: new Int32(115) });
    const names = server.database.collection('nobody');
    await expect(names.updateOne({}, [{ $set: { r: expression } }])).rejects.toMatchObject({ code: 115 });
  });
});
