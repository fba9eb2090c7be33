import { pathOf, toPointer } from '../../src/common/errors/index.js';
import { isObjectId } from '../../src/common/ids/index.js';

const ID = '665f1c2ab7e3a90d4c8b4567';

it.each<[(string | number)[], string]>([
  [[], ''],
  [['title'], '/title'],
  [['items', 0, 'name'], '/items/0/name'],
  [['a/b', 'c~d', ''], '/a~1b/c~0d/'],
])('the pointer of %j is %j', (segments, pointer) => expect(toPointer(segments)).toBe(pointer));

it.each([
  ['/todos', '/todos'],
  ['/todos?limit=1?', '/todos'],
  ['/?', '/'],
  ['', ''],
])('%j has the path %j', (url, path) => expect(pathOf({ url })).toBe(path));

it.each([ID, ID.toUpperCase()])('%j is an identifier', (value) => expect(isObjectId(value)).toBe(true));

it.each([ID.slice(1), `${ID}\n`, `${ID.slice(1)}g`, 665, [ID], undefined])(
  '%j is not an identifier',
  (value) => expect(isObjectId(value)).toBe(false),
);
