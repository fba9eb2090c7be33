import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { GUARDS } from './index.js';

const PAGE = 'docs/guards.md';
const HEAD = '| Guard | File | Noticed by |\n| --- | --- | --- |\n';
const TABLE = /^\| Guard +\|[^]*?(?=\n\n|\n?$(?![^]))/m;

/** The test that noticed each guard's removal, by the guard's name, from docs/guards.md. */
export function readTable() {
  const [table = ''] = TABLE.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const rows = table
    .split('\n')
    .slice(2)
    .map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')));
  return new Map(rows.map(([, name, , test]) => [name, test.replaceAll(/^`|`$/g, '')]));
}

/** Writes the table of docs/guards.md: every guard, with the test that notices its removal. */
export async function writeTable(noticed) {
  const rows = GUARDS.map(({ name, file }) => {
    const test = noticed.get(name);
    const cells = [name, `[${file.split('/').at(-1)}](../${file})`, test ? `\`${test}\`` : ''];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  const text = readFileSync(PAGE, 'utf8').replace(TABLE, () => HEAD + rows.join('\n'));
  writeFileSync(PAGE, await format(text, { ...(await resolveConfig(PAGE)), parser: 'markdown' }));
}
