import { readFileSync } from 'node:fs';
import { ACME, tokenOf } from './support/tenants.js';
import { createTestApp, type TestApp } from './support/test-app.js';

describe('requests.http', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it('has requests that all succeed, from top to bottom', async () => {
    const bodies = new Map<string, Record<string, string>>();
    const values: Record<string, string> = { base: '', acme: await tokenOf(ACME) };
    const valueOf = (name: string) => {
      const [request = '', , , field = ''] = name.split('.');
      return values[name] ?? bodies.get(request)?.[field] ?? `{{${name}}}`;
    };
    const [, ...requests] = readFileSync('requests.http', 'utf8').split(/^### /m);
    expect(requests.length).toBeGreaterThan(10);
    for (const request of requests) {
      const text = request.replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => valueOf(name));
      const [, name] = /^# @name (\w+)$/m.exec(text) ?? [];
      const [, method = '', path = '', headers = '', body] =
        /^([A-Z]+) (\S+)\n((?:[\w-]+: .*\n)*)(?:\n([^]+))?/m.exec(text) ?? [];
      const answer = await app.request(method, path, {
        headers: Object.fromEntries(
          [...headers.matchAll(/^([\w-]+): (.*)$/gm)].map(([, key, value]) => [key, value]),
        ),
        body: body?.trim() || undefined,
      });
      const [title] = text.split('\n', 1);
      const succeeded = answer.status === 200 || answer.status === 201;
      expect([title, succeeded, answer.body]).toEqual([title, true, answer.body]);
      if (name) bodies.set(name, answer.body as Record<string, string>);
    }
  });
});

describe("the README's tour", () => {
  const blocks = [...readFileSync('README.md', 'utf8').matchAll(/^```sh tour[ \d]*\n(.*?)^```/gms)].map(
    ([, commands = '']) => commands,
  );

  it('can be pasted into an interactive zsh, which has no comments, and whose quotes must match', () => {
    expect(blocks.length).toBeGreaterThan(10);
    for (const line of blocks.join('').trim().split('\n')) {
      expect(line).not.toMatch(/^#|\s#/);
      const outside = line.replaceAll(/\$?'[^']*'|"(?:\\.|[^"\\])*"/g, '');
      expect(outside).not.toMatch(/['"?*[\]!]/);
    }
  });
});
