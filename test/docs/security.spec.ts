import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ESLint } from 'eslint';

const PAGE = readFileSync('docs/security.md', 'utf8');
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
const TESTS = filesIn('test');

/** The requirements of the ASVS, as the table beside the page has them. */
const [, ...LINES] = readFileSync('docs/asvs.tsv', 'utf8').trim().split('\n');
const ROWS = LINES.map((line) => {
  const [id = '', level = '', , status = '', evidence = ''] = line.split('\t');
  return { id, level, status, evidence };
});

describe('the table of the ASVS', () => {
  const met = ROWS.filter(({ status }) => status === 'met');
  const references = met.flatMap(({ id, evidence }) =>
    [...evidence.matchAll(/`([^`]+)`/g)].map(([, text = '']): [string, string] => [id, text]),
  );
  const inTests = references.filter(([, text]) => /^[\w.-]+spec\.ts: /.test(text));
  const files = references.filter(([, text]) =>
    /^[\w./-]+\.[a-z]+$|^[\w-]+\/[\w./-]+$|^Dockerfile$/.test(text),
  );

  it('has every requirement once, with a level and a status', () => {
    const ids = ROWS.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids).toHaveLength(253);
    for (const { level, status, evidence } of ROWS)
      expect(`${level}|${status}|${evidence}`).toMatch(/^[12]\|(met|not met|yours|does not apply)\|./);
  });

  it('names tests and files that exist', () => {
    const missing = inTests.filter(([, text]) => {
      const [, file = '', title = ''] = /^([^:]+): (.*)$/.exec(text) ?? [];
      const path = TESTS.find((one) => basename(one) === file);
      if (!path) return true;
      const source = readFileSync(path, 'utf8');
      return !["'", '"', '`'].some((quote) => source.includes(quote + title + quote));
    });
    expect(missing).toEqual([]);
    expect(files.filter(([, path]) => !existsSync(path))).toEqual([]);
  });

  it('shows every requirement that is met by a test or a file', () => {
    const shown = new Set([...inTests, ...files].map(([id]) => id));
    expect(met.filter(({ id }) => !shown.has(id))).toEqual([]);
  });

  it('is summed up by the page, which gives the reason of each that is not met', () => {
    const [met = 0, not = 0, yours = 0, others = 0] = ['met', 'not met', 'yours', 'does not apply'].map(
      (status) => ROWS.filter((row) => row.status === status).length,
    );
    const share = (of: number) => `${met} of ${of}, ${((100 * met) / of).toFixed(1)} %`;
    expect(PAGE).toContain(`${met} are met, ${not} are not met, ${yours} are yours, ${others} do not apply.`);
    expect(PAGE).toContain(`met and not met: ${share(met + not)}.`);
    expect(PAGE).toContain(`it would be ${share(met + not + yours)}.`);
    const explained = [...PAGE.matchAll(/^\| (V[\d.]+) +\| \S/gm)].map(([, id]) => id);
    expect(explained).toEqual(ROWS.filter(({ status }) => status === 'not met').map(({ id }) => id));
  });
});

describe('the statements of the page about the source', () => {
  it.each([
    ["eval('1')", 'no-eval'],
    ["new Function('return 1')()", 'no-new-func'],
  ])('the linter refuses code that is made from strings: %s', async (code, rule) => {
    const [result] = await new ESLint().lintText(`${code};\n`, { filePath: 'src/main.ts' });
    expect(result?.messages.map(({ ruleId, severity }) => [ruleId, severity])).toContainEqual([rule, 2]);
  });

  it('hashes are SHA-256', () => {
    const sources = ['src', 'libs/embedded-mongodb/src']
      .flatMap(filesIn)
      .filter((name) => name.endsWith('.ts'));
    const made = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bcreate(?:Hash|Hmac)\(\s*([^,)]+)/g)].map(([, name]) => name),
    );
    expect(made.length).toBeGreaterThan(5);
    expect([...new Set(made)]).toEqual(["'sha256'"]);
  });

  it('the image contains no repository, tests, examples or settings', () => {
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['.git', 'test', '**/test', 'examples', '.env']));
    const [, final = ''] =
      /\nFROM [^\n]*(?<!AS build)\n([^]*)/.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const copied = [...final.matchAll(/^COPY .* (\S+)$/gm)].map(([, target]) => target);
    expect(copied).toEqual(['./', 'node_modules', 'libs', 'dist', 'public']);
    expect(final).toMatch(/^ENV NODE_ENV=production /m);
  });

  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { integrity?: string; link?: boolean; hasInstallScript?: boolean }>;
  };
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  );

  it('every package is pinned by a hash', () => {
    expect(installed.length).toBeGreaterThan(100);
    expect(installed.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'))).toEqual([]);
  });

  it('no package runs a script at installation', () => {
    const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      allowScripts: Record<string, boolean>;
    };
    const wanting = installed.filter(([, { hasInstallScript }]) => hasInstallScript);
    const allowed = wanting.filter(([path]) => allowScripts[path.replace(/^.*node_modules\//, '')] !== false);
    expect(allowed).toEqual([]);
  });
});
