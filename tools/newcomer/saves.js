import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDown, serves, until } from './service.js';

/** The source whose text about `GET /health/live` shows which version is served. */
const CONTROLLER = 'src/common/health/health.module.ts';
const OTHERS = ['src/common/health/index.ts', 'src/app.module.ts'];

function save(clone, summary, others = []) {
  for (const name of others) appendFileSync(join(clone, name), `// ${summary}\n`);
  const path = join(clone, CONTROLLER);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/(health_live', summary: ')[^']*/, `$1${summary}`));
}

/** The ways to save, by name. Each resolves with the text that the service must then serve. */
const KINDS = {
  'one file': ({ clone, text }) => {
    save(clone, text);
    return text;
  },
  'three files at once': ({ clone, text }) => {
    save(clone, text, OTHERS);
    return text;
  },
  'one file, and again while the service restarts': async ({ clone, text, url, command, limit }) => {
    save(clone, text);
    await until(() => isDown(url), command, limit);
    save(clone, `${text} again`);
    return `${text} again`;
  },
};

/**
 * Saves sources as an editor does, and waits each time until the service serves the change, ready and with
 * its data.
 *
 * @param service `clone`, the folder; `url` and `command` of the service; `limit` of each save, in milliseconds
 */
export async function saveOften(steps, times, service) {
  const kinds = Object.entries(KINDS);
  for (let i = 0; i < times; i += 1) {
    const [kind, change] = kinds[i % kinds.length];
    const saved = async () => {
      const summary = await change({ ...service, text: `Save ${i + 1}` });
      await until(() => serves(service.url, summary), service.command, service.limit);
    };
    await steps.run(`save ${i + 1} of ${times}: ${kind}`, saved, service.limit);
    if (service.command.hasEnded) return;
  }
}
