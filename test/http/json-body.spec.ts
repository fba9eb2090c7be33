import { MalformedRequestError } from '../../src/common/errors/index.js';
import { checkHarmless, parseJson } from '../../src/common/http/index.js';

describe('a body that would take long to parse', () => {
  const levels = 100_000;
  const object = (names: number) =>
    Object.fromEntries(Array.from({ length: names }, (_, i) => [`n${i}`, ':']));

  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['lists', '['.repeat(levels) + ']'.repeat(levels)],
    ['objects', '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)],
    ['lists that do not end', '['.repeat(levels)],
    ['more than 10,000 names in an object', JSON.stringify({ a: [object(10_001)] })],
  ])('is refused before it is parsed: %s', (_, text) => {
    const parse = jest.spyOn(JSON, 'parse');
    expect(() => parseJson(Buffer.from(text))).toThrow(MalformedRequestError);
    expect(parse).not.toHaveBeenCalled();
  });

  it.each<[string, object]>([
    ['a text with as many brackets', { title: '[{'.repeat(levels), note: '\\"['.repeat(levels) }],
    ['10,000 names in each object', [object(10_000), object(10_000)]],
  ])('is told apart from %s', (_, body) => {
    expect(parseJson(Buffer.from(JSON.stringify(body)))).toEqual(body);
  });
});

it.each([
  ['nested too deeply', `${'['.repeat(100)}${']'.repeat(100)}`],
  ['a nested field named "constructor"', '{"title":{"constructor":1}}'],
])('a body that may do harm is refused with what is wrong: %s', (fault, text) => {
  expect(() => checkHarmless(parseJson(Buffer.from(text)))).toThrow(fault);
});
