import { readFileSync } from 'node:fs';
import { ACME, tokenOf } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const app = useTestApp();

it('requests.http contains requests that all succeed, from top to bottom', async () => {
  const bodies = new Map<string, Record<string, string>>();
  const values: Record<string, string> = { base: '', acme: tokenOf(ACME) };
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
    const lines = [...headers.matchAll(/^([\w-]+): (.*)$/gm)];
    const fields = Object.fromEntries(lines.map(([, key, value]) => [key, value])) as Record<string, string>;
    const answer = await app.request(method, path, { headers: fields, body: body?.trim() || undefined });
    const [title] = text.split('\n', 1);
    const succeeded = answer.status === 200 || answer.status === 201;
    expect([title, succeeded, answer.body]).toEqual([title, true, answer.body]);
    if (name) bodies.set(name, answer.body as Record<string, string>);
  }
});
