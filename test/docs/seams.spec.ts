import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const SOURCES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name: basename(name), text: readFileSync(join('src', name), 'utf8') }));

/** What the source does to packages beyond their documented interfaces. */
const SEAMS: readonly RegExp[] = [
  // A file behind the door of a package; types alone are no code.
  /^import (?!type )[^;]*? from '((?:@[\w.-]+\/[\w.-]+|(?!node:)[a-z][\w.-]*)\/[^']+)'/gm,
  // A private member, which TypeScript lets pass in brackets.
  /\w(\['\w+'\])\./g,
  // A method of another object that is replaced.
  /^\s+((?!this\b)\w+\.\w+) = (?:async )?\([^=]*\) =>/gm,
  /\b(\w+\.prototype\.\w+)\.call\(/g,
];

/** What looks like a seam, but is documented, or the source's own. */
const NONE = ['route.errorHandler', 'Function.prototype.toString', 'inside.end', "['resource']"];

it('the list of seams in docs/architecture.md has every place where the source relies on more than a documented interface, and no other', () => {
  const found = SOURCES.flatMap(({ name, text }) =>
    SEAMS.flatMap((seam) => [...text.matchAll(seam)].map(([, what = '']) => what))
      .filter((what) => !NONE.includes(what))
      .map((what) => `${name}: ${what}`),
  );
  const page = readFileSync('docs/architecture.md', 'utf8');
  const [table = ''] = /(?:^\|.*\n)+/m.exec(page.slice(page.indexOf('## Seams'))) ?? [];
  const listed = table.split('\n').flatMap((row) => {
    const [, where = '', what = ''] = row.split('|');
    const files = [...where.matchAll(/\[([\w.-]+)\]/g)].map(([, file]) => file);
    const seams = [...what.matchAll(/`([^`]+)`/g)].map(([, seam]) => seam);
    return files.flatMap((file) => seams.map((seam) => `${file}: ${seam}`));
  });
  expect([...new Set(found)].sort()).toEqual(listed.sort());
});
