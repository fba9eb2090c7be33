import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import {
  encodeHead,
  frameHeaderLength,
  headLength,
  type JournalHead,
  decodeHead,
} from '../src/storage/journal-file.js';
import { tablePrefix, tableRange } from '../src/storage/layout.js';
import { Store } from '../src/storage/store.js';
import { writeFormerFolder, writeJournalKey } from './support/former-journal.js';
import { startTestServer } from './support/server.js';

const table = 7;
const rounds = 40;
/** How long a round's keys live. */
const window = 20;
/** A value of more than one sector, so that some frames have sectors of their own. */
const longValue = 'x'.repeat(1_500);

let dir: string;
let data: string;
let copies = 0;
/** The contents after each round, and where its frame ends. */
let states: string[];
let ends: number[];
/** The whole journal. */
let whole: Buffer;
const warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);

const key = (name: string): Buffer => Buffer.concat([tablePrefix(table), Buffer.from(name)]);

/** Sets two keys and removes those of an earlier round, all at once. */
function writeRound(store: Store, round: number): Promise<void> {
  return store.write(() => {
    for (const name of ['a', 'b']) {
      store.put(key(`${name}${round}`), Buffer.from(round % 4 === 3 ? longValue : `${round}`));
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
async function contentsAfter(accident: (copy: string) => void): Promise<string> {
  const copy = join(dir, `copy-${copies++}`);
  cpSync(data, copy, { recursive: true });
  accident(copy);
  const store = Store.open(copy);
  try {
    return contents(store);
  } finally {
    await store.close();
    rmSync(copy, { recursive: true });
  }
}

const afterWriting = (journal: Buffer): Promise<string> =>
  contentsAfter((copy) => writeFileSync(join(copy, 'journal'), journal));

function flipped(bytes: Buffer, at: number, mask: number): Buffer {
  const result = Buffer.from(bytes);
  result[at] = (result[at] as number) ^ mask;
  return result;
}

/** The journal as if only a part of it had been flushed at the end of the process, or of the machine. */
function flushedTo(flushed: number, machineEnds: boolean): Buffer {
  const head = decodeHead(whole.subarray(0, headLength)) as JournalHead;
  return Buffer.concat([
    encodeHead({ ...head, flushed, boot: machineEnds ? (head.boot ^ 1) >>> 0 : head.boot }),
    whole.subarray(headLength),
  ]);
}

/** Whole numbers below a limit that look random and are the same every time. */
function* sample(count: number, limit: number): Generator<number> {
  for (let i = 0, state = 42; i < count; i++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield Math.floor((state / 2 ** 31) * limit);
  }
}

const damagedAt = (position: number): RegExp =>
  new RegExp(
    `^The journal .*journal is damaged at byte ${position}\\b.* Put a backup .* or remove .*data\\.mdb-head to start`,
  );

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'journal-'));
  data = join(dir, 'data');
  const store = Store.open(join(dir, 'open'));
  await store.write(() => store.put(key('first'), Buffer.from('in the data file')));
  await store.close();
  cpSync(join(dir, 'open'), join(dir, 'before'), { recursive: true });
  const again = Store.open(join(dir, 'open'));
  states = [contents(again)];
  ends = [headLength];
  const journal = join(dir, 'open', 'journal');
  for (let round = 0; round < rounds; round++) {
    await writeRound(again, round);
    states.push(contents(again));
    ends.push(readFileSync(journal).length);
  }
  await again.flushed();
  whole = readFileSync(journal);
  // As after SIGKILL: nothing of the journal is in the data file yet.
  cpSync(join(dir, 'open'), data, { recursive: true });
  await again.close();
  cpSync(join(dir, 'open'), join(dir, 'closed'), { recursive: true });
});
beforeEach(() => warnings.mockClear());
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('a journal', () => {
  it('is on disk when a write with j: true is answered', async () => {
    const server = await startTestServer({ dir: join(dir, 'served'), temporary: false });
    const writes = server.database.collection('names', { writeConcern: { j: true } });
    await writes.insertOne({});
    const head = readFileSync(join(dir, 'served', 'journal')).subarray(0, headLength);
    const { flushed, written } = decodeHead(head) as JournalHead;
    await server.stop();
    expect(flushed).toBe(written);
    expect(written).toBeGreaterThan(headLength);
  });

  it('has all that was acknowledged, and nothing to report', async () => {
    expect(await contentsAfter(() => undefined)).toBe(states.at(-1));
    expect(warnings).not.toHaveBeenCalled();
  });

  it('is refused with any byte flipped, whatever part of it', async () => {
    const frames = [0, rounds / 2, rounds - 1].map((round) => ends[round] as number);
    const positions = [
      ...Array.from({ length: headLength }, (_, at) => at),
      ...frames.flatMap((start) => Array.from({ length: frameHeaderLength + 8 }, (_, at) => start + at)),
      whole.length - 1,
      ...sample(40, whole.length),
    ];
    for (const [i, at] of positions.entries()) {
      const frame = at < headLength ? 0 : (ends.findLast((end) => end <= at) as number);
      await expect(afterWriting(flipped(whole, at, [0x01, 0x80, 0xff][i % 3] as number))).rejects.toThrow(
        damagedAt(frame),
      );
    }
    expect(warnings).not.toHaveBeenCalled();
  }, 60_000);

  // Elsewhere nobody tells whether the machine has ended.
  const unflushed = process.platform === 'linux' ? [['that was not flushed', 0]] : [];
  it.each([...unflushed, ['that was flushed', 1]])(
    '%s is refused if it is cut off, or zeroed to its end, anywhere',
    async (_, all) => {
      const journal = all ? whole : flushedTo(headLength, false);
      for (const at of [
        0,
        1,
        headLength - 1,
        ...ends.slice(0, -1),
        whole.length - 1,
        ...sample(20, whole.length),
      ]) {
        await expect(afterWriting(journal.subarray(0, at))).rejects.toThrow(/is damaged at byte \d+/);
        await expect(afterWriting(Buffer.from(journal).fill(0, at))).rejects.toThrow(
          /is damaged at byte \d+/,
        );
      }
    },
    60_000,
  );

  it('loses no more to a power failure than what had not been flushed, and says so once', async () => {
    const flushed = ends[rounds / 2] as number;
    for (const at of [flushed, flushed + 1, whole.length - 1, ...sample(20, whole.length)].filter(
      (each) => each >= flushed,
    )) {
      const round = ends.findLastIndex((end) => end <= at);
      const sector = Math.ceil(at / 512) * 512;
      const lastWhole = ends.findLastIndex((end) => end <= sector);
      const journal = flushedTo(flushed, true);
      warnings.mockClear();
      expect(await afterWriting(journal.subarray(0, at))).toBe(states[round]);
      expect(warnings.mock.calls).toEqual([
        [
          expect.stringContaining(
            `cut off at byte ${ends[round]} of ${whole.length}: what followed was acknowledged`,
          ),
        ],
      ]);
      if (whole.length - sector >= 512)
        expect(await afterWriting(journal.fill(0, sector))).toBe(states[lastWhole]);
    }
  }, 60_000);

  it('is refused with a flipped byte that had not been flushed either, in the last record as well', async () => {
    for (const at of [ends[rounds - 1] as number, whole.length - 1, ...sample(20, whole.length)]) {
      if (at >= headLength)
        await expect(afterWriting(flipped(flushedTo(headLength, true), at, 0x10))).rejects.toThrow(
          'is damaged at byte',
        );
    }
  });

  it.each<[string, Buffer]>([
    ['garbage', Buffer.from('garbage')],
    ['the beginning of a frame', Buffer.alloc(0)],
    ['zeros', Buffer.alloc(5_000)],
  ])('is opened with %s behind what was acknowledged, which it says', async (_, behind) => {
    const tail = behind.length > 0 ? behind : whole.subarray(headLength, headLength + 20);
    expect(await afterWriting(Buffer.concat([whole, tail]))).toBe(states.at(-1));
    expect(warnings.mock.calls).toEqual([[expect.stringContaining('cut short and never acknowledged')]]);
  });

  it('is empty for a data file that has taken its changes over', async () => {
    const journal = join(data, 'journal');
    const found = await contentsAfter((copy) => {
      cpSync(join(dir, 'closed'), copy, { recursive: true });
      cpSync(journal, join(copy, 'journal'));
    });
    expect(found).toBe(states.at(-1));
    expect(warnings).not.toHaveBeenCalled();
  });

  it('is refused next to an older data file, or one of other data', async () => {
    const other = join(dir, 'other');
    await Store.open(other).close();
    for (const folder of ['before', 'other']) {
      const found = contentsAfter((copy) => {
        cpSync(join(dir, folder), copy, { recursive: true });
        writeFileSync(join(copy, 'journal'), whole);
      });
      await expect(found).rejects.toThrow(/is damaged at byte 0, its beginning, or belongs to other data\./);
    }
  });

  it('is given up from the damage on if the record of the data file is removed, which it says', async () => {
    const at = ends[10] as number;
    const without = (journal: Buffer) => (copy: string) => {
      writeFileSync(join(copy, 'journal'), journal);
      rmSync(join(copy, 'data.mdb-head'));
    };
    expect(await contentsAfter(without(flipped(whole, at + 30, 1)))).toBe(states[10]);
    expect(warnings.mock.calls).toEqual([
      [expect.stringContaining(`cut off at byte ${at} of ${whole.length}`)],
    ]);
    expect(await contentsAfter(without(flipped(whole, 0, 1)))).toBe(states.at(-1));
    expect(await contentsAfter(without(Buffer.alloc(0)))).toBe(states[0]);
  });
});

describe('a journal of an earlier version', () => {
  const former =
    (change: (frames: Buffer[]) => Buffer[]): ((copy: string) => void) =>
    (copy) => {
      rmSync(copy, { recursive: true });
      const changes = ['a', 'b', 'c'].map((name) => new Map([[key(name), Buffer.from(name)]]));
      writeFormerFolder(copy, changes, change);
    };

  it('is opened, with frames from before the last checkpoint behind its own', async () => {
    expect(await contentsAfter(former((frames) => frames))).toBe(contentsOf('abc'));
    expect(await contentsAfter(former(() => []))).toBe('');
    expect(warnings).not.toHaveBeenCalled();
  });

  it('is taken over once, even if the process ends in between', async () => {
    const copy = join(dir, 'former');
    cpSync(data, copy, { recursive: true });
    former((frames) => frames)(copy);
    const journal = readFileSync(join(copy, 'journal'));
    const store = Store.open(copy);
    cpSync(copy, join(dir, 'halfway'), { recursive: true });
    await store.close();
    writeFileSync(join(dir, 'halfway', 'journal'), journal);
    const again = Store.open(join(dir, 'halfway'));
    expect(contents(again)).toBe(contentsOf('abc'));
    await again.close();
  });

  it('is refused if it is damaged before its last record', async () => {
    for (const at of [0, 9, 13, 20]) {
      const damage = former(([first, ...rest]) => [flipped(first as Buffer, at, 1), ...rest]);
      await expect(contentsAfter(damage)).rejects.toThrow(/is damaged at byte 0\b/);
    }
    const damage = former(([first, second, ...rest]) => [
      first as Buffer,
      flipped(second as Buffer, 20, 1),
      ...rest,
    ]);
    await expect(contentsAfter(damage)).rejects.toThrow(/is damaged at byte 28\b/);
  });

  it('is opened without a damaged last record, which cannot be told from one that was cut short', async () => {
    const damage = former(([a, b, c]) => [a as Buffer, b as Buffer, flipped(c as Buffer, 20, 1)]);
    expect(await contentsAfter(damage)).toBe(contentsOf('ab'));
    expect(warnings).toHaveBeenCalledTimes(1);
  });
});

it('data of a later version are refused with a sentence', async () => {
  const found = contentsAfter((copy) => writeJournalKey(copy, Buffer.from('030000', 'hex')));
  await expect(found).rejects.toThrow(
    /were written by a later version of nestjs-mongo-crud-embedded \(format 3, this one knows 2\)\. Start that version/,
  );
});

const contentsOf = (names: string): string => [...names].map((name) => `${key(name)}=${name} `).join('');
