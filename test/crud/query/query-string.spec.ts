import { parseQueryString, queryFault } from '../../../src/common/http/strict-query.js';

describe('a query string', () => {
  it.each([
    ['', {}],
    ['&&', {}],
    ['a=1', { a: '1' }],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['=a', { '': 'a' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1&b=2&a=3&a=4', { a: ['1', '3', '4'], b: '2' }],
    ['a=1;b=2', { a: '1;b=2' }],
    ['a+b=c+d', { 'a b': 'c d' }],
    ['a=1%2B2', { a: '1+2' }],
    ['a[b]=1', { 'a[b]': '1' }],
    ['a%5Bb%5D=1', { 'a[b]': '1' }],
    ['a%26b=%3D%25', { 'a&b': '=%' }],
    ['a=%F0%9F%A6%8A', { a: '🦊' }],
    ['a=%00', { a: '\0' }],
    ['toString=1', { toString: '1' }],
    ['?a=1', { '?a': '1' }],
  ])('%s is read', (text, expected) => {
    const read = parseQueryString(text);
    expect({ ...read }).toEqual(expected);
    expect(queryFault(read)).toBeUndefined();
  });

  it('treats names that every object has like any other', () => {
    const read = parseQueryString('__proto__=1&constructor=2&__proto__[x]=3');
    expect(Object.entries(read)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['__proto__[x]', '3'],
    ]);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it.each(['%', 'a=%', 'a=%zz', 'a=%E4', '%FF=1', 'a=%ED%A0%80', 'a=%C0%80', 'ok=1&a=%F4%90%80%80'])(
    '%s is not UTF-8',
    (text) => {
      expect(queryFault(parseQueryString(text))).toBe(
        'The URL is not valid. Percent-encode its special characters in UTF-8.',
      );
    },
  );

  it('has at most 200 parameters', () => {
    const many = (count: number) =>
      parseQueryString(Array.from({ length: count }, (_, i) => `a${i}=`).join('&'));
    expect(Object.keys(many(200))).toHaveLength(200);
    expect(queryFault(many(200))).toBeUndefined();
    expect(queryFault(many(201))).toBe('The URL has more than 200 parameters. Leave some out.');
    expect(queryFault(parseQueryString('&'.repeat(1_000_000)))).toContain('more than 200');
  });
});
