import { readdirSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../src', import.meta.url));

/**
 * The folders of `src`, and the files beside them, from the ones that know nothing to the ones that know everything, as
 * docs/architecture.md draws them. A file may import its own folder and those of earlier layers; of one layer, none the other.
 */
const layers = [
  ['errors.ts'],
  ['registry.ts', 'bson'],
  ['storage', 'wire'],
  ['lock.ts'],
  ['aggregate'],
  ['query'],
  ['index'],
  ['catalog'],
  ['pipeline', 'planner'],
  ['update'],
  ['operators'],
  ['commands'],
  ['ttl.ts', 'data-files.ts'],
  ['server.ts'],
  ['worker-thread.ts'],
  ['index.ts'],
  ['cli.ts'],
];

const folderOf = (path: string): string => path.split('/')[0] as string;
const layerOf = (path: string): number => layers.findIndex((layer) => layer.includes(folderOf(path)));

/** What a file imports of the library itself, in any form, types included. */
function importsOf(file: string): string[] {
  const text = readFileSync(posix.join(src, file), 'utf8');
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)\.js'/g);
  return Array.from(found, ([, path]) => `${posix.join(dirname(file), path as string)}.ts`);
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

it('every file is in a folder that has a layer, and imports are found', () => {
  expect(files.filter((file) => layerOf(file) < 0)).toEqual([]);
  expect(importsOf('operators/filter/elem-match.ts')).toContain('query/element.ts');
});

it('imports point from later layers to earlier ones', () => {
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter((imported) => folderOf(imported) !== folderOf(file) && layerOf(imported) >= layerOf(file))
      .map((imported) => `${file} imports ${imported}`),
  );
  expect(wrong).toEqual([]);
});
