import type { Fail } from './fail.js';
import { BATCH_HANDLERS } from './option-names.js';

/** Checks `bulk` and `import`, and that options for their routes are only given if the routes exist. */
export function checkBatches(options: Readonly<Record<string, unknown>>, fail: Fail): void {
  for (const name of BATCH_HANDLERS) {
    const value = options[name] ?? false;
    if (typeof value !== 'boolean') fail(`${name} must be true or false.`);
    if (!value && Object.hasOwn((options.routes ?? {}) as object, name)) {
      fail(`routes.${name} changes a route that is not there. Write ${name}: true, or leave it out.`);
    }
  }
}
