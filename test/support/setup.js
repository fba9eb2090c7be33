import 'reflect-metadata';
import { bind } from 'jest-each';

/** Above what `eventually` waits, so that a test fails with what it found. Unit: milliseconds. */
const LIMIT_MS = 90_000;

/** Not those that a test may control. */
const { clearTimeout, setTimeout } = globalThis;

/** How the tests are read; what they start has options of its own. */
delete process.env.NODE_OPTIONS;

/** Fails a test or a hook that does not end, since the runner knows no limit. */
function limited(run, limit = LIMIT_MS) {
  return async () => {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`This took longer than ${limit / 1_000} s.`)), limit);
    });
    try {
      await Promise.race([run(), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function withLimit(register) {
  const withLimit = (title, run, limit) => register(title, limited(run, limit));
  return Object.assign(withLimit, { each: bind(withLimit) });
}

const { it } = globalThis;
globalThis.it = Object.assign(withLimit(it), { only: withLimit(it.only), skip: withLimit(it.skip) });
globalThis.test = globalThis.it;
for (const hook of ['beforeAll', 'afterAll', 'beforeEach', 'afterEach']) {
  const register = globalThis[hook];
  globalThis[hook] = (run, limit) => register(limited(run, limit));
}
