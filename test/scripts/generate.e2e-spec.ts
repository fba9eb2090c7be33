/** @slow */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { copyProject } from '../support/project-copy.js';

const GENERATE_MS = 240_000;
const TOOLS = [
  '.prettierrc',
  'eslint.config.js',
  'jest.config.js',
  'libs/schematics',
  'libs/embedded-mongodb/dist',
];

let copy: string;
beforeAll(() => {
  copy = copyProject();
  for (const name of [...TOOLS, 'test/support']) cpSync(name, join(copy, name), { recursive: true });
  mkdirSync(join(copy, 'examples'));
});
afterAll(() => rmSync(copy, { recursive: true }));

function run(command: string, args: readonly string[]) {
  const { MONGODB_URI: _, TESTS: __, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: copy, encoding: 'utf8', env });
  return { status, output: stdout + stderr };
}

const generate = (...args: string[]) => run(process.execPath, ['scripts/generate.js', ...args]);
const bin = (name: string, ...args: string[]) => run(join(copy, 'node_modules/.bin', name), args);

it(
  'generate and the Nest CLI write resources that pass checks and tests as they stand',
  () => {
    expect(generate('comments', 'title:text!', 'body:text?', 'due:timestamp')).toEqual({
      status: 0,
      output: [
        'CREATE src/comments/dto/comment-input.ts',
        'CREATE src/comments/comment.schema.ts',
        'CREATE src/comments/comments.module.ts',
        'CREATE test/comments.e2e-spec.ts',
        'UPDATE src/app.module.ts\n',
      ].join('\n'),
    });
    const fields = 'name:text!,tags:texts,stars:integer!,ratio:number,price:decimal,open:boolean';
    expect(bin('nest', 'g', 'resource', 'blog-entries', fields)).toMatchObject({ status: 0 });
    expect(existsSync(join(copy, 'src/blog-entries/blog-entries.module.ts'))).toBe(true);
    const referring = ['post:posts!', 'state:open/done!', 'address.city:text!', 'address.geo.lat:number'];
    expect(generate('tickets', ...referring, '--events')).toMatchObject({ status: 0 });
    // Features do not import each other.
    expect(readFileSync(join(copy, 'src/posts/tickets.module.ts'), 'utf8')).toContain('events: true');
    expect(generate('replies', 'ticket:tickets!', 'text', '--tenant')).toMatchObject({ status: 0 });
    const open = readFileSync(join(copy, 'src/comments/comments.module.ts'), 'utf8');
    expect(open).toContain('// Everybody reads and writes these records');
    for (const schematic of ['module', 'service', 'controller'])
      expect(bin('nest', 'g', schematic, 'shelves')).toMatchObject({ status: 0 });
    const appModule = readFileSync(join(copy, 'src/app.module.ts'), 'utf8');
    for (const name of ['CommentsModule', 'BlogEntriesModule', 'ShelvesModule'])
      expect(appModule).toContain(name);
    const features = appModule.slice(appModule.indexOf('function featuresOf'));
    for (const name of ['CommentsModule', 'BlogEntriesModule', 'TicketsModule', 'RepliesModule'])
      expect(features).toContain(`{ module: ${name} },`);

    const specs = ['comments', 'blog-entries', 'tickets', 'replies'].map(
      (name) => `test/${name}.e2e-spec.ts`,
    );
    const written = [
      'src/comments',
      'src/blog-entries',
      'src/posts',
      'src/shelves',
      'src/app.module.ts',
      ...specs,
    ];
    expect(bin('prettier', '--check', ...written)).toMatchObject({ status: 0 });
    expect(bin('eslint', '--max-warnings', '0', ...written)).toEqual({ status: 0, output: '' });
    expect(bin('tsc', '--noEmit', '--skipLibCheck', '-p', 'tsconfig.build.json')).toEqual({
      status: 0,
      output: '',
    });
    const jest = [join(copy, 'node_modules/jest/bin/jest.js'), '--silent', ...specs];
    const tests = run(process.execPath, jest);
    expect([tests.status, tests.output]).toEqual([
      0,
      expect.stringContaining('Test Suites: 4 passed, 4 total'),
    ]);
  },
  GENERATE_MS,
);

it.each([
  [['comment'], '"comment" has no plural s: name the resource in the plural, such as comments.'],
  [
    ['Comments'],
    'The name of a resource is in the plural and in kebab-case, such as comments or blog-posts.',
  ],
  [[], 'The name of a resource is in the plural and in kebab-case, such as comments or blog-posts.'],
  [
    ['shops', 'name:string'],
    '"string" is not a type. Choose one of text, texts, integer, number, decimal, boolean, timestamp, values such as open/done, or one of your resources: posts, todos, comments, blog-entries, tickets, replies.',
  ],
  [['shops', 'createdAt:timestamp'], 'The service has a field "createdAt" of its own. Choose another name.'],
  [['shops', 'name', 'name'], 'The field "name" is there twice.'],
  [['shops', 'place.city', 'place'], 'The field "place" is there twice.'],
  [
    ['shops', 'post:posts', 'todo:todos'],
    'Resources that refer to each other share a folder: it cannot be in src/posts and in src/todos.',
  ],
  [['shops', '1st:text'], '"1st:text" is not a field.'],
  [['todos', 'title:text!'], 'src/app.module.ts has TodosModule already.'],
])('rejects %j with a sentence, and writes nothing', (args, sentence) => {
  const { status, output } = generate(...args);
  expect([status, output]).toEqual([1, expect.stringContaining(sentence)]);
  expect(existsSync(join(copy, 'src/shops'))).toBe(false);
});
