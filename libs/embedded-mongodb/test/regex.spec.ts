import { BSONRegExp } from 'bson';
import { startTestServer, type TestServer } from './support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

// What is expected is what a MongoDB 7.0 finds.
describe('regular expressions', () => {
  it.each<[string, string, string, boolean]>([
    ['^$', 'm', 'a\n', false],
    ['^$', 'm', 'a\n\nb', true],
    ['^b', 'm', 'a\nb', true],
    ['a$', '', 'a\n', true],
    ['a$', '', 'a\n\n', false],
    ['.', '', '\r', true],
    ['.', '', '\n', false],
    ['.', 's', '\n', true],
    ['^.$', '', '😀', true],
    ['^.$', '', 'e\u0301', false],
    ['\\w', 'i', '\u017f', false],
    ['\\w', 'i', '\u212a', false],
    ['\\W', 'i', '\u017f', true],
    ['[\\w]', 'i', '\u212a', false],
    ['\\bs', 'i', 'a\u017f', true],
    ['\\B\u017f', 'i', 'as', true],
    ['s', 'i', '\u017f', true],
    ['k', 'i', '\u212a', true],
    ['[a-z]', 'i', '\u212a', true],
    ['[^a-z]', 'i', '\u212a', false],
    ['ß', 'i', 'ẞ', true],
    ['Σ', 'i', 'ς', true],
    ['ΐ', 'i', '\u1fd3', false],
    ['[]a]', '', ']', true],
    ['a{b', '', 'a{b', true],
    ['\\B$', '', '😀', true],
    ['a\\B$', '', '😀a', false],
    ['[[.a]', '', '[', true],
  ])('/%s/%s on %j: %s', async (pattern, options, text, found) => {
    const names = await server.filled([{ text }]);
    expect(await names.countDocuments({ text: new BSONRegExp(pattern, options) })).toBe(Number(found));
  });

  it.each([
    ['[[:^alpha:]]', ''],
    ['[[:alpha:]]', ''],
    ['[:alpha:]', ''],
    ['[..]', ''],
    ['\\v', ''],
    ['(a)?\\1b', ''],
    ['\\p{Lu}', 'i'],
    ['\\R', ''],
    ['(?<=a)b', ''],
    ['a(?=b)', ''],
    ['^(?!a)', ''],
    ['(?i)a', ''],
    ['\\Aa', ''],
    ['(?>a)', ''],
    ['a++', ''],
    ['a b', 'x'],
    ['a(?i)b', ''],
    ['Ⴀ', 'i'],
    ['(a{500}){500}', ''],
    ['(?:^a){0}b', ''],
  ])('refuses /%s/%s, which JavaScript would read otherwise', async (pattern, options) => {
    const names = await server.filled([{ text: 'a' }]);
    const found = names.countDocuments({ text: new BSONRegExp(pattern, options) });
    await expect(found).rejects.toMatchObject({
      code: 115,
      message: expect.stringContaining('not supported'),
    });
  });

  it.each(['(', 'a)', '[a', '*', 'a{2,1}', '[b-a]', 'a\\'])('finds /%s/ broken', async (pattern) => {
    const names = await server.filled([{ text: 'a' }]);
    await expect(names.countDocuments({ text: { $regex: pattern } })).rejects.toMatchObject({ code: 51_091 });
  });

  it('names the unknown option', async () => {
    const names = await server.filled([{ text: 'a' }]);
    const found = names.countDocuments({ text: { $regex: 'a', $options: 'g' } });
    await expect(found).rejects.toMatchObject({ code: 51_108 });
  });

  it('uses an index for the literal start of an expression', async () => {
    const names = await server.filled(['ab', 'abc', 'b', 'ac', 'xab', 'AB'].map((text) => ({ text })));
    const counts = async (): Promise<number[]> =>
      Promise.all(
        ['^ab', '^ab?', '^ab|b', '^a(b)'].map((pattern) =>
          names.countDocuments({ text: { $regex: pattern } }).catch(() => -1),
        ),
      );
    const scanned = await counts();
    expect(scanned).toEqual([2, 3, 4, 2]);
    await names.createIndex({ text: 1 });
    expect(await counts()).toEqual(scanned);
  });
});
