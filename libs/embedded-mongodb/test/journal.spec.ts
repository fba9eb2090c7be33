import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tablePrefix, tableRange } from '../src/storage/layout.js';
import { Store } from '../src/storage/store.js';

const table = 7;
/** Far more changes than a checkpoint takes, so that the file has old frames behind the new ones. */
const rounds = 3_000;
/** How long a round's keys live. */
const window = 20;

let dir: string;
let copies = 0;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'journal-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const key = (name: string): Buffer => Buffer.concat([tablePrefix(table), Buffer.from(name)]);

/** Sets two keys and removes those of an earlier round, all at once. */
function writeRound(store: Store, round: number): Promise<void> {
  return store.write(() => {
    for (const name of ['a', 'b']) {
      store.put(key(`${name}${round}`), Buffer.from(`${round}`));
      if (round >= window) store.remove(key(`${name}${round - window}`));
    }
  });
}

function contents(store: Store): string {
  const cursor = store.walk(tableRange(table));
  let found = '';
  for (let entry = cursor.next(); entry; entry = cursor.next()) found += `${entry.key}=${entry.value} `;
  cursor.release();
  return found;
}

/** What the store has when it is opened on a copy of its files, to which something has happened. */
async function contentsAfter(accident: (journal: string) => void): Promise<string> {
  const copy = join(dir, `copy-${copies++}`);
  cpSync(join(dir, 'data'), copy, { recursive: true });
  accident(join(copy, 'journal'));
  const store = Store.open(copy);
  try {
    return contents(store);
  } finally {
    await store.close();
  }
}

describe('the journal', () => {
  it('restores acknowledged writes, and those before the damage from a damaged journal', async () => {
    const store = Store.open(join(dir, 'data'));
    const states = [contents(store)];
    for (let round = 0; round < rounds; round++) {
      await writeRound(store, round);
      states.push(contents(store));
    }
    const whole = readFileSync(join(dir, 'data', 'journal'));
    expect(await contentsAfter(() => undefined)).toBe(states.at(-1));

    const seen = new Set<number>();
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 40)) {
      const cut = await contentsAfter((journal) => truncateSync(journal, at));
      const flipped = await contentsAfter((journal) => {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] as number) ^ 0x10;
        writeFileSync(journal, bytes);
      });
      expect(flipped).toBe(cut);
      seen.add(states.indexOf(cut));
    }
    expect(seen).not.toContain(-1);
    expect(seen.size).toBeGreaterThan(10);
    await store.close();
  }, 60_000);

  it('does not replay changes that a checkpoint contains', async () => {
    const first = Store.open(join(dir, 'data'));
    await writeRound(first, 1);
    await first.close();
    const second = Store.open(join(dir, 'data'));
    await second.write(() => ['a1', 'b1'].forEach((name) => second.remove(key(name))));
    await second.close();
    expect(await contentsAfter(() => undefined)).toBe('');
  });
});
