import { pathOf, toPointer } from '../../src/common/errors/index.js';
import { isObjectId } from '../../src/common/ids/index.js';

describe('toPointer', () => {
  it.each<[(string | number)[], string]>([
    [[], ''],
    [['title'], '/title'],
    [['items', 0, 'name'], '/items/0/name'],
    [['a/b', 'c~d', ''], '/a~1b/c~0d/'],
  ])('%j is %j', (segments, pointer) => {
    expect(toPointer(segments)).toBe(pointer);
  });
});

describe('pathOf', () => {
  it.each([
    ['/todos', '/todos'],
    ['/todos?limit=1?', '/todos'],
    ['/?', '/'],
    ['', ''],
  ])('%j has the path %j', (url, path) => {
    expect(pathOf({ url })).toBe(path);
  });
});

describe('isObjectId', () => {
  it.each([
    ['665f1c2ab7e3a90d4c8b4567', true],
    ['665F1C2AB7E3A90D4C8B4567', true],
    ['665f1c2ab7e3a90d4c8b456', false],
    ['665f1c2ab7e3a90d4c8b4567\n', false],
    ['665f1c2ab7e3a90d4c8b456g', false],
    [665, false],
    [['665f1c2ab7e3a90d4c8b4567'], false],
    [undefined, false],
  ])('%j: %s', (value, expected) => {
    expect(isObjectId(value)).toBe(expected);
  });
});
