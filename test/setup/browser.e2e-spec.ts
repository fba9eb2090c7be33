/** @slow */
import { ChromiumPage, describeInChromium } from '../support/chromium.js';
import { ACME, GLOBEX, tokenOf } from '../support/tenants.js';
import { eventually } from '../support/eventually.js';
import { createTestApp, type TestApp } from '../support/test-app.js';

interface Operation {
  readonly requestBody?: object;
  method: string;
  path: string;
  operationId: string;
  tags: [string];
}

/** Under a load that makes a browser slow. */
const TIMEOUT_MS = 120_000;

/** Creates come first and deletes last; a restore follows its delete, and a retry the list of deliveries. The stream, which has no end, is the last. */
const ORDER = [
  ({ method, path }: Operation) => method === 'post' && !path.includes('{'),
  ({ path }: Operation) => path.endsWith('/test'),
  ({ method, path }: Operation) =>
    method !== 'delete' && path !== '/events' && !/\/(?:restore|retry)$/.test(path),
  ({ path }: Operation) => path.endsWith('/retry'),
  ({ path }: Operation) => path.startsWith('/posts') && !path.endsWith('/restore'),
  ({ path }: Operation) => path !== '/events',
  () => true,
];

describeInChromium('in a browser', () => {
  let app: TestApp;
  let chromium: ChromiumPage;
  let token: string;
  beforeAll(async () => {
    [app, chromium, token] = await Promise.all([
      createTestApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } }),
      ChromiumPage.open(),
      tokenOf(ACME),
    ]);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await chromium.close();
    await app.close();
  });
  afterEach(() => expect(chromium.faults).toEqual([]));

  it(
    'the explorer takes a token, and tries out each operation with its example as it stands',
    async () => {
      const { page } = chromium;
      const operations = await operationsOf(app);
      await page.goto(`${app.url}/docs`);
      await page.locator('.btn.authorize').click();
      await page.locator('.auth-container input').fill(token);
      await page.locator('.auth-btn-wrapper .authorize').click();
      await page.locator('.btn-done').click();

      /** Identifiers of the records that were created, by the path of their lists. */
      const ids = new Map<string, string>();
      const statuses: Record<string, number> = {};
      for (const { method, path, operationId, tags, requestBody } of operations) {
        const block = page.locator(`[id="operations-${tags[0]}-${operationId}"]`);
        await block.locator('.opblock-summary-control').click();
        await block.locator('.execute').waitFor();
        const body = block.locator('textarea.body-param__text');
        // Names are not resolved where the tests run.
        if (requestBody !== undefined && path.startsWith('/subscriptions')) {
          // The form is there before its example is.
          await eventually(async () => expect(await body.inputValue()).not.toBe(''));
          await body.fill((await body.inputValue()).replace('https://example.com', 'http://127.0.0.1:9'));
        }
        for (const name of ['id', 'subscriptionId'].filter((one) => path.includes(`{${one}}`))) {
          const list = path.slice(0, path.indexOf(`/{${name}}`)).replace(/\{\w+\}/, '{}');
          await block.locator(`tr[data-param-name="${name}"] input`).fill(ids.get(list) ?? 'none');
        }
        const [response] = await Promise.all([
          page
            .waitForResponse((one) => one.request().method() === method.toUpperCase())
            .catch((cause: unknown) => Promise.reject(new Error(`${method} ${path}`, { cause }))),
          block.locator('.execute').click(),
        ]);
        statuses[`${method} ${path}`] = response.status();
        const list = path.replace(/\{\w+\}/, '{}');
        if (
          path !== '/events' &&
          response.ok() &&
          response.headers()['content-type']?.startsWith('application/json')
        ) {
          const answer = (await response.json()) as { _id?: string; results?: { _id: string }[] };
          const id = answer._id ?? answer.results?.[0]?._id;
          if (id !== undefined && !ids.has(list)) ids.set(list, id);
        }
        await block.locator('.opblock-summary-control').click();
      }
      expect(Object.keys(statuses)).toHaveLength(operations.length);
      expect(Object.entries(statuses).filter(([, status]) => status >= 300)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'the live page shows events as they come, and their texts as text',
    async () => {
      const { page } = chromium;
      await page.goto(`${app.url}/docs`);
      // It opens another tab, and this page is watched.
      const link = await page.getByRole('link', { name: 'Events', exact: true }).getAttribute('href');
      await page.goto(app.url + link);
      await page.getByLabel('Bearer token').fill('wrong');
      // The browser logs the refusal itself.
      const logged = page.waitForEvent('console');
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByText('401: ').waitFor();
      await logged;
      expect(chromium.faults.splice(0)).toEqual([expect.stringContaining('401 (Unauthorized)')]);

      await page.getByLabel('Bearer token').fill(token);
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();
      const title = '<img src=x onerror=alert(1)>';
      await app.post('/posts/api', { title: 'first' }, { token });
      await app.post('/posts/api', { title }, { token });
      await app.post('/posts/api', { title: 'of others' }, { token: tokenOf(GLOBEX) });
      await page.getByText(title).waitFor();
      const events = await page.getByRole('listitem').allTextContents();
      expect(events).toEqual([expect.stringContaining(title), expect.stringContaining('"first"')]);
      expect(events[0]).toMatch(/^posts\.created/);

      await page.getByRole('button', { name: 'Disconnect' }).click();
      await page.getByText('Not connected').waitFor();
    },
    TIMEOUT_MS,
  );
});

async function operationsOf(app: TestApp): Promise<Operation[]> {
  const { paths } = (await app.get('/docs/openapi.json')).body as {
    paths: Record<string, Record<string, Pick<Operation, 'operationId' | 'tags' | 'requestBody'>>>;
  };
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, ...operation })),
  );
  const rankOf = (operation: Operation) => ORDER.findIndex((includes) => includes(operation));
  return all.sort((a, b) => rankOf(a) - rankOf(b));
}
