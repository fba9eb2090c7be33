import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ERROR_TABLE } from '../../src/common/errors/index.js';
import { readEnvironment, type Variables } from '../../src/config/index.js';

it('docs/errors.md lists every code in the order of the table, and no other, with when it comes and what to do', () => {
  const rows = tableRows('docs/errors.md');
  const listed = rows.map(([code, status, title]) => [code, { status: Number(status), title }]);
  expect(listed).toEqual(Object.entries(ERROR_TABLE));
  expect(rows.filter((row) => row.length !== 5 || row.some((cell) => cell === ''))).toEqual([]);
});

it('docs/operations.md says what to do about every refusal with 429 or 503', () => {
  const refusals = Object.entries(ERROR_TABLE).filter(([, { status }]) => status === 429 || status === 503);
  const explained = tableRows('docs/operations.md', '## Refusals').map(([code]) => code);
  expect(refusals.map(([code]) => code).filter((code) => !explained.includes(code))).toEqual([]);
});

it('docs/configuration.md lists every variable that the service reads, with its default, and no other', () => {
  const listed = tableRows('docs/configuration.md', '## Variables').map(([name, value]) => [name, value]);
  expect(listed).toEqual(defaults());
});

it('.env.example lists every variable, in the order of docs/configuration.md, with its default', () => {
  const lines = [...readFileSync('.env.example', 'utf8').matchAll(/^#([A-Z_]+)=(.*)$/gm)];
  const listed = lines.map(([, name, value]) => [name, value]);
  expect(listed).toEqual(
    defaults().map(([name, value]) => [name, value === 'unset' ? expect.any(String) : value]),
  );
});

it('the decisions have a number each, and are listed in their order', () => {
  const pages = readdirSync('docs/adr').filter((name) => name !== 'README.md');
  const index = readFileSync('docs/adr/README.md', 'utf8');
  const listed = [...index.matchAll(/^- \[\d+\]\((.+?)\): /gm)].map(([, page]) => page);
  expect(listed).toEqual(pages.sort());
  expect(new Set(pages.map((name) => name.slice(0, 4))).size).toBe(pages.length);
});

describe('every page', () => {
  const pages = [
    ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'],
    ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)),
    ...['libs/embedded-mongodb/README.md', 'clients/typescript/README.md'],
  ].filter((name) => name.endsWith('.md'));

  it.each(pages)('%s links to files and headings that exist', (page) => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    const dead = links.filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link));
    expect(dead).toEqual([]);
  });

  it('has commands that can be pasted into interactive shells, where bash and zsh expand unquoted text and zsh has no comments', () => {
    const commands = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/^```sh[^\n]*\n(.*?)^```/gms)].flatMap(([, text = '']) =>
        text.replaceAll(/\$?'[^']*'|"(?:\\.|[^"\\])*"/g, '').split('\n'),
      ),
    );
    expect(commands.length).toBeGreaterThan(100);
    expect(commands.filter((line) => /^#|\s#|['"?*[\]]|!(?=[^\s=(])/.test(line))).toEqual([]);
  });
});

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  return existsSync(target) && (heading === undefined || anchorsOf(target).includes(heading));
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const text = readFileSync(page, 'utf8').replace(/^```[^]*?^```/gm, '');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The body rows of the first table after a heading, as cells without code marks. */
function tableRows(path: string, heading = ''): string[][] {
  const text = readFileSync(path, 'utf8');
  const [table = ''] = /(?:^\|.*\n)+/m.exec(text.slice(text.indexOf(heading))) ?? [];
  const [, , ...rows] = table.replaceAll('`', '').trim().split('\n');
  return rows.map((row) => row.split(/ *\| */).slice(1, -1));
}

/** Each variable that the service reads, in that order, with what it is where it is unset. */
function defaults(): [string, string][] {
  const asked = new Set<string>();
  const nothing = new Proxy<Variables>({}, { get: (_target, name) => void asked.add(String(name)) });
  const environment = Object.entries(readEnvironment(nothing));
  return [...asked].map((name) => {
    const [, value] =
      environment.find(([field]) => field.toLowerCase() === name.replaceAll('_', '').toLowerCase()) ?? [];
    return [name, value === undefined || String(value) === '' ? 'unset' : String(value)];
  });
}
