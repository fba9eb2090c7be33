import { Types } from 'mongoose';
import { mergePatch } from '../../../src/common/fields/index.js';

describe('mergePatch', () => {
  it.each<[unknown, unknown, unknown]>([
    // The examples of RFC 7396, appendix A.
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, expected) => {
    const before = structuredClone([target, patch]);
    expect(mergePatch(target, patch)).toEqual(expected);
    expect([target, patch]).toEqual(before);
  });

  it('replaces dates and values of the store as a whole', () => {
    const [at, id, price] = [new Date(), new Types.ObjectId(), Types.Decimal128.fromString('1.50')];
    const merged = mergePatch({ at: { x: 1 }, id: { x: 1 }, price: new Date() }, { at, id, price }) as object;
    expect(merged).toEqual({ at, id, price });
    expect(mergePatch({ at }, { at: { x: 1 } })).toEqual({ at: { x: 1 } });
  });

  it('writes harmful names as members, never into a prototype', () => {
    const patch = JSON.parse('{"__proto__":{"admin":true},"a":{"__proto__":{"admin":true}}}') as object;
    const merged = mergePatch({ a: {} }, patch) as { a: object };
    for (const object of [merged, merged.a, {}]) expect('admin' in object).toBe(false);
  });
});
