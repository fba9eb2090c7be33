/** @slow */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TOOLS_MS } from '../support/run.js';
import { sendTo } from '../support/send-to.js';
import { useServices } from '../support/service-process.js';

const services = useServices();
const start = (PORT: string) =>
  services.spawn({ DATA_DIR: services.folder, PORT }, ['scripts/start-examples.js']);

/** Starts the examples, asks something of them, and gives back what they printed. */
async function whileRunning(ask: (url: string) => Promise<void>): Promise<string> {
  const service = start('0');
  await ask(await service.url());
  service.signal('SIGTERM');
  return (await service.ended()).stdout;
}

it(
  'npm run examples starts them all on a database of their own, with tokens that outlive a restart',
  async () => {
    const printed = await whileRunning(async (url) => {
      const document: unknown = await (await fetch(`${url}/docs/openapi.json`)).json();
      const { tags } = document as { tags: { name: string }[] };
      expect(tags.map(({ name }) => name).join()).toBe(
        'Products,Categories,Articles and comments,Users,Todos,Orders,Events,Ledger,Bookings,Price rules,Profile,Expenses,Invoices',
      );
      expect(existsSync(join(services.folder, 'mongodb'))).toBe(true);
      const stderr = expect.stringMatching(/^PORT \d+ is in use by another process\. .+\n$/) as string;
      expect(await start(new URL(url).port).ended()).toEqual({ code: 1, stdout: '', stderr });
    });
    const tokens = printed.match(/^eyJ[\w.-]+$/gm) ?? [];
    expect(tokens).toHaveLength(3);
    await whileRunning(async (url) => {
      for (const token of tokens) {
        const request = { token, body: { title: 'Water the plants' } };
        expect((await sendTo(url, 'POST', '/todos', request)).status).toBe(201);
        expect((await sendTo(url, 'GET', '/todos/count', { token })).body).toEqual({ count: 1 });
      }
    });
  },
  TOOLS_MS,
);
