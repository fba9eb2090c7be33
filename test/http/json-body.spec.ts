import { MalformedRequestError } from '../../src/common/errors/index.js';
import { parseJson } from '../../src/common/http/index.js';

describe('a body that is nested extremely deep', () => {
  const levels = 100_000;

  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['lists', '['.repeat(levels) + ']'.repeat(levels)],
    ['objects', '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)],
    ['lists that do not end', '['.repeat(levels)],
  ])('is refused before it is parsed: %s', (_, text) => {
    const parse = jest.spyOn(JSON, 'parse');
    expect(() => parseJson(Buffer.from(text))).toThrow(MalformedRequestError);
    expect(parse).not.toHaveBeenCalled();
  });

  it('is told apart from a text with as many brackets', () => {
    const body = { title: '[{'.repeat(levels), note: '\\"['.repeat(levels) };
    expect(parseJson(Buffer.from(JSON.stringify(body)))).toEqual(body);
  });
});
