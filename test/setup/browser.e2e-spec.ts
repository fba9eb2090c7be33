/** @slow */
import { existsSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { TOOLS_MS } from '../support/run.js';
import { acme, globex, tokenOf } from '../support/tenants.js';
import { eventually } from '../support/eventually.js';
import { type TestApp, useTestApp } from '../support/test-app.js';

interface Operation {
  readonly requestBody?: object;
  readonly security: object[];
  method: string;
  path: string;
  operationId: string;
  tags: [string];
}

/** Width of a phone. Unit: pixels. */
const PHONE = 375;

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

/** Those of the operators and of subscriptions are tried out where there is time. */
const isTriedOut = ({ path }: Operation) =>
  process.env.EXPLORED === 'all' || !/^\/(?:health|metrics|subscriptions\/)/.test(path);

const executablePath = [process.env.CHROMIUM, '/usr/bin/chromium'].find((path) => path && existsSync(path));

// Not by the console, which --silent turns off.
if (!executablePath)
  process.stderr.write('Skipped: no Chromium. Install it (apt-get install chromium) or set CHROMIUM.\n');

const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];

/** Colours are there at once, not after a moment of fading. The Content-Security-Policy has no say in such a sheet. */
const AT_ONCE = `
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*, ::before, ::after { transition: none !important; animation: none !important }');
  document.adoptedStyleSheets = [sheet];`;

/** The contrast of a placeholder, which axe does not look at, with its field. WCAG 2, level AA, wants 4.5. */
const PLACEHOLDER_CONTRAST = `(() => {
  const { Color, getContrast } = axe.commons.color;
  const colorOf = (name, pseudo) => {
    const color = new Color();
    color.parseString(getComputedStyle(document.querySelector('input'), pseudo)[name]);
    return color;
  };
  return getContrast(colorOf('backgroundColor'), colorOf('color', '::placeholder'));
})()`;

(executablePath ? describe : describe.skip)('in a browser', () => {
  const app = useTestApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  let context: BrowserContext;
  let page: Page;
  /** Errors on the console, refusals by the Content-Security-Policy among them, and exceptions of scripts. */
  const faults: string[] = [];
  beforeAll(async () => {
    // Loaded only if there is a browser.
    const { chromium } = await import('playwright-core');
    // With a new profile.
    context = await chromium.launchPersistentContext('', { executablePath, args: ARGS });
    await context.addInitScript({ path: 'node_modules/axe-core/axe.js' });
    await context.addInitScript({ content: AT_ONCE });
    page = await context.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(`${message.text()} ${message.location().url}`);
    });
  }, TOOLS_MS);
  afterAll(() => context.close());
  afterEach(() => expect(faults).toEqual([]));

  /** The texts within an element whose contrast is below that of WCAG 2, level AA. */
  async function paleTexts(selector: string): Promise<string[]> {
    const run = `axe.run(${JSON.stringify(selector)}, { runOnly: ['color-contrast'] })`;
    const { violations } = await page.evaluate<AxeResults>(run);
    return violations.flatMap(({ nodes }) => nodes.map(({ html, any }) => `${any[0]?.message} ${html}`));
  }

  /** In light and dark. */
  async function expectLegible(selector: string): Promise<void> {
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await paleTexts(selector)).toEqual([]);
    }
  }

  it(
    'the explorer takes a token as it says, tries out each operation as it stands, and is legible in each form',
    async () => {
      const operations = await operationsOf(app);
      // Where there is least room.
      await page.setViewportSize({ width: PHONE, height: 900 });
      await page.goto(`${app.url}/docs`);
      await expectPadlocks(page, operations);
      await page.locator('.btn.authorize').click();
      const command = await page.locator('.auth-container .renderedMarkdown code').textContent();
      const [, tenant] = /^npm run token -- --tenant (\w+)$/.exec(command ?? '') ?? [];
      await page.locator('.auth-container input').fill(`Bearer ${tokenOf(tenant)}`);
      await expectLegible('body');
      await page.locator('.auth-btn-wrapper .authorize').click();
      await page.locator('.btn-done').click();
      await expectPadlocks(page, operations);

      /** Identifiers of the records that were created, by the path of their lists. */
      const ids = new Map<string, string>();
      const failed: string[] = [];
      /** Methods whose form was looked at. */
      const looked = new Set<string>();
      const wide: string[] = [];
      for (const { method, path, operationId, tags, requestBody } of operations.filter(isTriedOut)) {
        const name = `${method} ${path}`;
        const selector = `[id="operations-${tags[0]}-${operationId}"]`;
        const block = page.locator(selector);
        await block.locator('.opblock-summary-control').click();
        await block.locator('.execute').waitFor();
        const body = block.locator('textarea.body-param__text');
        // Names are not resolved where the tests run.
        if (requestBody !== undefined && path.startsWith('/subscriptions')) {
          // The form is there before its example is.
          await eventually(async () => expect(await body.inputValue()).not.toBe(''));
          await body.fill((await body.inputValue()).replace('https://example.com', 'http://127.0.0.1:9'));
        }
        const listOf = (full: string) => full.replace(/\{\w+\}/, '{}');
        for (const id of ['id', 'subscriptionId'].filter((one) => path.includes(`{${one}}`))) {
          const list = listOf(path.slice(0, path.indexOf(`/{${id}}`)));
          const input = block.locator(`tr[data-param-name="${id}"] input`);
          await input.fill(ids.get(list) ?? 'none');
          // Otherwise the page takes the value over a moment later.
          await input.blur();
        }
        const [response] = await Promise.all([
          page
            .waitForResponse((one) => one.request().method() === method.toUpperCase())
            .catch((cause: unknown) => Promise.reject(new Error(name, { cause }))),
          block.locator('.execute').click(),
        ]);
        // The stream has no end.
        const text = path === '/events' ? '' : await response.text();
        // A batch answers 200, whatever its operations do.
        const isRejected = /bulk|import/.test(path) && text.includes('"code"');
        if (!response.ok() || isRejected) failed.push(`${name}: ${response.status()} ${text}`);
        if (response.headers()['content-type']?.startsWith('application/json')) {
          const answer = JSON.parse(text) as { _id?: string; results?: { _id: string }[] };
          const id = answer._id ?? answer.results?.[0]?._id;
          if (id !== undefined && !ids.has(listOf(path))) ids.set(listOf(path), id);
        }
        if (Number(await page.evaluate('document.documentElement.scrollWidth')) > PHONE) wide.push(name);
        if (path.startsWith('/todos') && !looked.has(method)) await expectLegible(selector);
        if (path.startsWith('/todos')) looked.add(method);
        if (path !== '/events') await block.locator('.opblock-summary-control').click();
      }
      expect({ failed, wide }).toEqual({ failed: [], wide: [] });
      expect(await page.locator('.errors-wrapper').count()).toBe(0);
      // What waits for the end of the stream leads to the page that does not.
      const tag = page.locator('.opblock-tag-section', {
        has: page.locator('#operations-Notifications-events_stream'),
      });
      expect(await tag.locator('.opblock-tag a[href="/docs/live"]').count()).toBe(1);
    },
    TOOLS_MS,
  );

  it(
    'the live page shows events as they come, and their texts as text',
    async () => {
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.goto(`${app.url}/docs`);
      // It opens another tab, and this page is watched.
      const link = await page.getByRole('link', { name: 'Events', exact: true }).getAttribute('href');
      await page.goto(app.url + link);
      expect(await page.evaluate(PLACEHOLDER_CONTRAST)).toBeGreaterThan(4.5);
      await page.getByLabel('Bearer token').fill('wrong');
      // The browser logs the refusal itself.
      const logged = page.waitForEvent('console');
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByText('401: ').waitFor();
      await logged;
      expect(faults.splice(0)).toEqual([expect.stringContaining('401 (Unauthorized)')]);

      await page.getByLabel('Bearer token').fill(acme);
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByText('Connected', { exact: true }).waitFor();
      const title = '<img src=x onerror=alert(1)>';
      await app.post('/posts/api', { title: 'first' }, { token: acme });
      await app.post('/posts/api', { title }, { token: acme });
      await app.post('/posts/api', { title: 'of others' }, { token: globex });
      await page.getByText(title).waitFor();
      const events = await page.getByRole('listitem').allTextContents();
      expect(events).toEqual([expect.stringContaining(title), expect.stringContaining('"first"')]);
      expect(events[0]).toMatch(/^posts\.created/);

      expect(await paleTexts('body')).toEqual([]);
      expect(await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')).not.toBe(
        'rgb(255, 255, 255)',
      );

      await page.getByRole('button', { name: 'Disconnect' }).click();
      await page.getByText('Not connected').waitFor();
    },
    TOOLS_MS,
  );
});

/** A padlock is closed if the operation needs a token, open if it takes one or none, and otherwise not there. */
async function expectPadlocks(page: Page, operations: Operation[]): Promise<void> {
  await page.locator('.opblock').first().waitFor();
  const padlocks = operations.map(async ({ tags, operationId }) => {
    const padlock = page.locator(`[id="operations-${tags[0]}-${operationId}"] .authorization__btn`);
    return (await padlock.count()) === 0 ? undefined : padlock.getAttribute('aria-label');
  });
  const needed = operations.map(({ security }) => {
    if (security.length === 0) return undefined;
    return `authorization button ${security.every((one) => 'bearer' in one) ? 'locked' : 'unlocked'}`;
  });
  expect(await Promise.all(padlocks)).toEqual(needed);
}

async function operationsOf(app: TestApp): Promise<Operation[]> {
  const paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>> = (
    await app.get('/docs/openapi.json')
  ).body.paths;
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, ...operation })),
  );
  const rankOf = (operation: Operation) => ORDER.findIndex((includes) => includes(operation));
  return all.sort((a, b) => rankOf(a) - rankOf(b));
}
