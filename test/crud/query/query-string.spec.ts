import { queryOf } from '../../../src/common/http/strict-query.js';
import type { HttpRequest } from '../../../src/common/request/index.js';

const parse = (text: string) => queryOf({ url: `/todos?${text}` } as HttpRequest);

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
    expect({ ...parse(text) }).toEqual(expected);
  });

  it('treats names that every object has like any other', () => {
    const read = parse('__proto__=1&constructor=2&__proto__[x]=3');
    expect(Object.entries(read)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['__proto__[x]', '3'],
    ]);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it.each([
    ...['%', 'a=%', 'a=%zz', 'a=%E4', 'a=%FF', '%FF=1', 'a=%ED%A0%80', 'a=%C0%80', 'ok=1&a=%F4%90%80%80'],
  ])('%s is not UTF-8', (text) => {
    expect(() => parse(text)).toThrow(
      'The URL is not valid. Percent-encode its special characters in UTF-8.',
    );
  });

  it('has at most 200 parameters', () => {
    const many = (count: number) => parse(Array.from({ length: count }, (_, i) => `a${i}=`).join('&'));
    expect(Object.keys(many(200))).toHaveLength(200);
    expect(() => many(201)).toThrow('The URL has more than 200 parameters. Leave some out.');
    expect(() => parse('&'.repeat(1_000_000))).toThrow('more than 200');
  });
});
