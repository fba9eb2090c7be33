import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
/** What is no page: templates, and the forms of issues. */
export const excluded = ['**/templates/**', '{coverage,data,packages}/**'];

const read = (path) => readFileSync(join(root, path), 'utf8');
const filesOf = (...patterns) =>
  execFileSync('git', ['ls-files', '--', ...patterns], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

export const { description, engines, version } = JSON.parse(read('package.json'));

/** The sections of docs/README.md. Each line of one is a task, and the page that helps with it. */
export function tasks() {
  const [, ...sections] = read('docs/README.md').split(/^## /m);
  return sections.map((section) => ({
    title: section.split('\n', 1)[0],
    pages: [...section.matchAll(/^- (.+?): \[(.+?)\]\((.+?)\)/gm)].map(([, task, name, link]) => ({
      task,
      name,
      link: join('docs', link),
    })),
  }));
}

/** The link to the page of a file or folder: a README is the index of its folder. */
export function linkToPage(href, from) {
  const [, path, hash] = /^([^#]*)(.*)$/.exec(href);
  if (path === '' || /^[a-z]+:/.test(path)) return href;
  if (path.endsWith('.md')) return path.replace(/README\.md$/, 'index.md') + hash;
  if (existsSync(join(root, dirname(from), path, 'README.md'))) return join(path, 'index.md') + hash;
  return `${path}.md${hash}`;
}

/** The files and folders that pages link to and that are no pages themselves, each with a page in Markdown. */
export function linkedFiles() {
  const links = filesOf('*.md', ':!**/templates/**').flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#\s:]+)(?:#[^)]*)?\)/g)].map(([, link]) => join(dirname(page), link)),
  );
  return [...new Set(links)]
    .filter((path) => !/\.(?:md|png)$/.test(path) && !existsSync(join(root, path, 'README.md')))
    .map((path) => [path, `# ${path}\n\n${statSync(join(root, path)).isFile() ? code(path) : list(path)}`]);
}

const LANGUAGES = { '.js': 'js', '.json': 'json', '.ts': 'ts', '.yaml': 'yaml', '.yml': 'yaml' };
const code = (path) => `\`\`\`\`${LANGUAGES[extname(path)] ?? 'txt'}\n${read(path)}\n\`\`\`\``;
const list = (path) =>
  filesOf(path)
    .map((file) => `- ${file}`)
    .join('\n');
