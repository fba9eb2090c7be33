import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';

const EXECUTABLE = [process.env.CHROMIUM, '/usr/bin/chromium'].find((path) => path && existsSync(path));

/** A `describe` that is skipped, and says so, if there is no Chromium. */
export const describeInChromium = EXECUTABLE ? describe : describe.skip;

// Not by the console, which --silent turns off.
if (!EXECUTABLE)
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

/** A page in a Chromium with a new profile. */
export class ChromiumPage {
  private constructor(
    readonly page: Page,
    /** Errors on its console, refusals by the Content-Security-Policy among them, and exceptions of its scripts. */
    readonly faults: string[],
    private readonly context: BrowserContext,
    private readonly profile: string,
  ) {}

  static async open(): Promise<ChromiumPage> {
    // Loaded only if there is a browser.
    const { chromium } = await import('playwright-core');
    const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
    const axe = createRequire(import.meta.url).resolve('axe-core');
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: EXECUTABLE,
      args: ARGS,
      viewport: { width: 1_280, height: 900 },
    });
    await context.addInitScript({ path: axe });
    await context.addInitScript({ content: AT_ONCE });
    const page = context.pages()[0] ?? (await context.newPage());
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(`${message.text()} ${message.location().url}`);
    });
    return new ChromiumPage(page, faults, context, profile);
  }

  /** The texts within an element whose contrast is below that of WCAG 2, level AA. */
  async paleTexts(selector: string): Promise<string[]> {
    const run = `axe.run(${JSON.stringify(selector)}, { runOnly: ['color-contrast'] })`;
    const { violations } = await this.page.evaluate<AxeResults>(run);
    return violations.flatMap(({ nodes }) => nodes.map(({ html, any }) => `${any[0]?.message} ${html}`));
  }

  /** The contrast of a field's placeholder, which axe does not look at, with the field. WCAG 2, level AA, wants 4.5. */
  placeholderContrast(selector: string): Promise<number> {
    return this.page.evaluate<number>(`(() => {
      const { Color, getContrast } = axe.commons.color;
      const field = document.querySelector(${JSON.stringify(selector)});
      const colorOf = (name, pseudo) => {
        const color = new Color();
        color.parseString(getComputedStyle(field, pseudo)[name]);
        return color;
      };
      return getContrast(colorOf('backgroundColor'), colorOf('color', '::placeholder'));
    })()`);
  }

  async close(): Promise<void> {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}
