/** @slow */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useProjectCopy } from '../support/project-copy.js';
import { run as runToEnd, TOOLS_MS } from '../support/run.js';

/** Lines that a person types, one for each question, or another one after what is refused. */
const ANSWERS = [
  ...['ticket', 'tickets', 'post', 'string', 'posts', 'maybe', 'y', 'state', 'open/done', 'y'],
  ...['address.city', 'text', 'y', 'input.geo.lat:number', 'n', '', 'mine', 'events'],
];
const REFUSALS = [
  '"ticket" has no plural s: name the resource in the plural, such as comments.',
  '"string" is not a type. Choose one of text, texts, integer, number, decimal, boolean, timestamp, values such as open/done, or one of your resources: posts, todos, comments, blog-entries.',
  'Answer y or n.',
  'Answer public, tenant or events.',
];
const TOOLS = ['.prettierrc', 'eslint.config.js', 'jest.config.js', 'libs/schematics'];

const copy = useProjectCopy(...TOOLS, 'libs/embedded-mongodb/dist', 'test/support');
const inCopy = (path: string) => join(copy.path, path);
const read = (path: string) => readFileSync(inCopy(path), 'utf8');
beforeAll(() => mkdirSync(inCopy('examples')));

function run(command: string, args: readonly string[], input?: string) {
  const { MONGODB_URI: _, TESTS: __, ...env } = process.env;
  const { status, stdout, stderr } = runToEnd(command, args, { cwd: copy.path, env, input });
  return { status, output: stdout + stderr };
}

const generate = (...args: string[]) => run(process.execPath, ['scripts/generate.js', ...args]);
/** Answers the questions of a terminal. */
const answer = (...lines: string[]) =>
  run('script', ['-qec', 'node scripts/generate.js', '/dev/null'], `${lines.join('\n')}\n`);
const bin = (name: string, ...args: string[]) => run(inCopy(`node_modules/.bin/${name}`), args);

it(
  'generate and the Nest CLI write resources that pass checks and tests as they stand',
  () => {
    const output = `CREATE src/comments/dto/comment-input.ts
CREATE src/comments/comment.schema.ts
CREATE src/comments/comments.module.ts
CREATE test/comments.e2e-spec.ts
UPDATE src/app.module.ts
Everybody reads and writes these records. With --tenant, each tenant has records of its own.\n`;
    expect(generate('comments', 'title:text!', 'body:text?', 'due:timestamp')).toEqual({ status: 0, output });
    const fields = 'name:text!,tags:texts,stars:integer!,ratio:number,price:decimal,open:boolean';
    expect(bin('nest', 'g', 'resource', 'blog-entries', fields)).toMatchObject({ status: 0 });
    expect(existsSync(inCopy('src/blog-entries/blog-entries.module.ts'))).toBe(true);
    const asked = answer(...ANSWERS);
    expect([asked.status, asked.output.match(/("(ticket|string)" |Answer ).*\./g)]).toEqual([0, REFUSALS]);
    // Features do not import each other.
    expect(read('src/posts/tickets.module.ts')).toContain('events: true');
    expect(generate('replies', 'ticket:tickets!', 'text', '--tenant')).toMatchObject({ status: 0 });
    expect(read('src/comments/comments.module.ts')).toContain('// Everybody reads and writes these records');
    for (const schematic of ['module', 'service', 'controller'])
      expect(bin('nest', 'g', schematic, 'shelves')).toMatchObject({ status: 0 });
    const appModule = read('src/app.module.ts');
    expect(appModule).toContain('ShelvesModule');
    const features = appModule.slice(appModule.indexOf('function featuresOf'));
    for (const name of ['CommentsModule', 'BlogEntriesModule', 'TicketsModule', 'RepliesModule'])
      expect(features).toContain(`{ module: ${name} },`);

    const names = ['comments', 'blog-entries', 'tickets', 'replies'];
    const specs = names.map((name) => `test/${name}.e2e-spec.ts`);
    const folders = ['comments', 'blog-entries', 'posts', 'shelves'].map((name) => `src/${name}`);
    const written = [...folders, 'src/app.module.ts', ...specs];
    const passed = { status: 0, output: '' };
    expect(bin('prettier', '--check', ...written)).toMatchObject({ status: 0 });
    expect(bin('eslint', '--max-warnings', '0', ...written)).toEqual(passed);
    expect(bin('tsc', '--noEmit', '--skipLibCheck', '-p', 'tsconfig.build.json')).toEqual(passed);
    const tests = run(process.execPath, [inCopy('node_modules/jest/bin/jest.js'), '--silent', ...specs]);
    expect(tests).toEqual({ status: 0, output: expect.stringContaining('Test Suites: 4 passed, 4 total') });
  },
  TOOLS_MS,
);

it('writes nothing if the terminal is closed before the last answer', () => {
  const { status, output } = answer('shops', 'name:text!');
  expect([status, output]).toEqual([1, expect.stringMatching(/\nNothing was written\.\s+$/)]);
  expect(existsSync(inCopy('src/shops'))).toBe(false);
});

const NO_NAME = 'The name of a resource is in the plural and in kebab-case, such as comments or blog-posts.';
const TWO_FOLDERS =
  'Resources that refer to each other share a folder: it cannot be in src/posts and in src/todos.';
it.each([
  ['Comments', NO_NAME],
  ['', NO_NAME],
  ['shops createdAt:timestamp', 'The service has a field "createdAt" of its own. Choose another name.'],
  ['shops name name', 'The field "name" is there twice.'],
  ['shops place.city place', 'The field "place" is there twice.'],
  ['shops post:posts todo:todos', TWO_FOLDERS],
  ['shops 1st:text', '"1st:text" is not a field.'],
  ['todos title:text!', 'src/app.module.ts has TodosModule already.'],
  ['shops name --public --events', '--public excludes --tenant and --events.'],
])('rejects "%s" with a sentence, and writes nothing', (args, sentence) => {
  const refused = generate(...args.split(' ').filter(Boolean));
  expect(refused).toEqual({ status: 1, output: expect.stringContaining(sentence) });
  expect(existsSync(inCopy('src/shops'))).toBe(false);
});
