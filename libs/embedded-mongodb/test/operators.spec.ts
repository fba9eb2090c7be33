import { readdirSync, readFileSync } from 'node:fs';
import { commandNames } from '../src/commands/table.js';
import { accumulators } from '../src/aggregate/accumulator.js';
import { clauseOperators, fieldOperators } from '../src/query/operators.js';
import { expressions } from '../src/aggregate/operator.js';
import { stages } from '../src/pipeline/stage.js';
import { updates } from '../src/update/operator.js';

const root = new URL('../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const rows = readme
  .slice(readme.indexOf('## Operators, stages and commands'))
  .split('\n')
  .filter((line) => line.startsWith('| '));

/** The names in the README's rows of one kind, refused ones apart from the others. */
function listed(kind: string): { supported: string[]; refused: string[] } {
  const cells = rows
    .map((row) => row.split('|').map((cell) => cell.trim()))
    .filter(([, name]) => name === kind);
  const names = (wanted: boolean): string[] =>
    cells
      .filter(([, , , by]) => (by === 'refused') === wanted)
      .flatMap(([, , text = '']) => text.match(/[\w$]+/g) ?? []);
  return { supported: names(false), refused: names(true) };
}

const unique = (names: string[]): string[] => [...new Set(names)].sort();

describe('the README', () => {
  it.each([
    ['Filters', [fieldOperators, clauseOperators]],
    ['Updates', [updates]],
    ['Stages', [stages]],
    ['Accumulators', [accumulators]],
    ['Expressions', [expressions]],
  ])('lists every operator of the kind %s', (kind, registries) => {
    const names = registries.flatMap((registry) => registry.names);
    expect(unique(listed(kind).supported)).toEqual(unique(names));
  });

  it('lists every command', () => {
    const { supported, refused } = listed('Commands');
    expect(unique(supported)).toEqual(unique(commandNames.supported));
    expect(unique(refused)).toEqual(unique(commandNames.refused));
  });
});

describe('the files of operators', () => {
  it.each([
    ['filter', [fieldOperators, clauseOperators]],
    ['update', [updates]],
    ['stage', [stages]],
    ['accumulator', [accumulators]],
    ['expression', [expressions]],
  ])('have the names of the operators in %s', (folder, registries) => {
    const paths = unique(registries.flatMap((registry) => registry.names))
      // The fields of a reference share a file.
      .filter((name) => name !== '$id' && name !== '$db')
      .map((name) => `${name.slice(1).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.ts`);
    expect(readdirSync(new URL(`src/operators/${folder}/`, root)).sort()).toEqual(paths.sort());
  });
});
