import mongoose from 'mongoose';
import type { Random } from '../random.js';
import { ACME, GLOBEX, tokenOf } from '../tenants.js';
import type { TestApp } from '../test-app.js';
import type { Sent } from './requests.js';
import { createPrivateApp } from './resources.js';
import { isSeen, PERSON, type Stored, SURFACES } from './surfaces.js';

const { Binary, ObjectId } = mongoose.mongo;

export const INITECH = '665f1c2ab7e3a90d4c8b0003';
const WORDS = ['tea', 'Tea', 'téa', 'red', 'Blue', 'a,b', '.*', 'x-ray', '7'];
const MOMENTS = ['2020-01-01T00:00:00.000Z', '2020-01-01T00:00:00.001Z', '2021-06-01T12:00:00.000Z'];

/** Records of each collection. */
export type Contents = Readonly<Record<string, readonly Stored[]>>;

/** Two services whose databases differ only in what callers of ACME, and callers without a token, may not see. */
export interface Worlds {
  readonly apps: readonly [TestApp, TestApp];
  readonly contents: readonly [Contents, Contents];
  close(): Promise<void>;
}

export async function createWorlds(random: Random): Promise<Worlds> {
  const apps = [await createPrivateApp(), await createPrivateApp()] as const;
  await shareKey(apps);
  const [one, other] = apps;
  for (const [tenant, sub] of people()) await populate(one, random, tokenOf(tenant, { sub }));
  const made = await contentsOf(one);
  const first = differing(random, made, touched(random, made));
  const second = differing(random, made, first);
  for (const [app, contents] of [
    [one, first],
    [other, second],
  ] as const) {
    for (const [name, records] of Object.entries(contents)) {
      await app.database.collection(name).deleteMany({});
      await app.database.collection(name).insertMany(records as object[]);
    }
  }
  return {
    apps,
    contents: [first, second],
    close: async () => void (await Promise.all(apps.map((app) => app.close()))),
  };
}

/** Gives two services the same key, so that even the cursors must have the same text. */
export async function shareKey(apps: readonly TestApp[]): Promise<void> {
  const value = new Binary(Buffer.alloc(32, 7));
  for (const { database } of apps) {
    const key = { _id: 'cursors' as never };
    await database.collection('installation').replaceOne(key, { value }, { upsert: true });
  }
}

/** All that a client is told but the date. */
export async function answerOf(app: TestApp, { method, path, body: sent, token, ...more }: Sent, id: string) {
  const headers = { ...more.headers, 'X-Request-Id': `request-${id}` };
  const {
    status,
    headers: answered,
    text,
    body,
  } = await app.request(method, path, {
    body: sent,
    token,
    headers,
  });
  const told = [...answered].filter(([name]) => name !== 'date');
  return { status, headers: told, text, body: body as unknown };
}

const people = () => [
  [ACME, PERSON],
  [ACME, 'bob'],
  [GLOBEX, PERSON],
  [INITECH, 'eve'],
];

/** What a database holds of each resource. */
export async function contentsOf({ database }: TestApp): Promise<Contents> {
  const entries = SURFACES.map(async ({ name }) => {
    return [name, await database.collection(name).find().sort({ _id: 1 }).toArray()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The records of a database that the callers may see, or those that they may not. */
export function partOf(contents: Contents, seen: boolean): Contents {
  const vaults = new Map(contents.vaults?.map((vault) => [String(vault._id), vault]));
  return Object.fromEntries(
    Object.entries(contents).map(([name, records]) => {
      return [name, records.filter((record) => isSeen(name, record, vaults) === seen)];
    }),
  );
}

/** Creates records of one person by the API, so that they have all that the service keeps with them. */
async function populate(app: TestApp, random: Random, token: string): Promise<void> {
  const text = () => random.list(1, 3, () => random.pick(WORDS)).join(' ');
  const create = async (path: string, body: object) =>
    (await app.post(path, body, { token })).body._id as string;
  const some = async (count: number, make: () => Promise<string>) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push(await make());
    return ids;
  };
  const posts = await some(8, () =>
    create('/posts/api', { title: text(), content: text(), tags: random.draw(WORDS, random.below(3)) }),
  );
  await some(3, () => create('/todos', { title: text(), completed: random.chance(0.5) }));
  const keepers = await some(4, () => create('/keepers', { name: text(), level: random.below(4) }));
  const vaults = await some(8, () =>
    create('/vaults', {
      name: text(),
      tags: random.draw(WORDS, random.below(3)),
      ...(random.chance(0.7) && { level: random.below(4), keeper: random.pick(keepers) }),
      ...(random.chance(0.7) && { dueAt: random.pick(MOMENTS), box: { label: text() } }),
      ...(random.chance(0.7) && { code: hex(random, 12) }),
    }),
  );
  await some(14, () => create(`/vaults/${random.pick(vaults)}/cards`, { name: text(), keeper: keepers[0] }));
  const diaries = await some(4, () => create('/diaries', { name: text() }));
  await some(6, () =>
    create('/notices', { name: text(), vault: random.pick(vaults), diary: random.pick(diaries) }),
  );
  for (const id of posts.slice(0, 4)) await app.del(`/posts/api/${id}`, { token });
  for (const id of vaults.slice(0, 3)) await app.del(`/vaults/${id}`, { token });
}

/** The records with moments that many share, with references across tenants, and some withdrawn. */
function touched(random: Random, contents: Contents): Contents {
  const idsOf = (name: string) => contents[name]?.map(({ _id }) => _id) ?? [];
  const [keepers, vaults] = [idsOf('keepers'), idsOf('vaults')];
  const moment = () => new Date(random.pick(MOMENTS));
  return Object.fromEntries(
    Object.entries(contents).map(([name, records]) => [
      name,
      records.map((record) => ({
        ...record,
        createdAt: moment(),
        updatedAt: moment(),
        ...(record.deletedAt !== undefined && { deletedAt: moment() }),
        ...(record.closedAt !== undefined && { closedAt: moment() }),
        ...(record.keeper !== undefined && { keeper: random.pick(keepers) }),
        ...(name === 'notices' && { vault: random.pick(vaults) }),
        ...(name === 'notices' && random.chance(0.3) && { withdrawn: true }),
      })),
    ]),
  );
}

/** The same records to callers: others among those that they do not see, and other values in hidden fields. */
function differing(random: Random, made: Contents, contents: Contents): Contents {
  const [seen, unseen] = [partOf(contents, true), partOf(contents, false)];
  const others = Object.keys(made).map((name) => {
    const donors = unseen[name] ?? [];
    const changed = donors.flatMap((record): Stored[] => {
      // Owner and place stay with the content, so that it stays unseen; what is unique would be there twice.
      const { code: _code, ...donor } = random.pick(donors);
      const foreign = { ...donor, __v: random.below(9) };
      const added = { ...foreign, _id: new ObjectId(hex(random, 24)) };
      const { _id } = record;
      return random.pick([
        [],
        [record],
        [{ ...foreign, _id }],
        [record, added],
        [{ ...foreign, _id }, added],
      ]);
    });
    return [name, changed] as const;
  });
  const hide = ({ _outbox, ...record }: Stored) => ({ ...record, ...hiddenIn(random, record, _outbox) });
  // A notice shows its fee to its own tenant only.
  const feeOf = (name: string, { tenant }: Stored) =>
    name === 'notices' && { fee: String(tenant) === ACME ? 7 : random.below(9) };
  return Object.fromEntries(
    others.map(([name, changed]) => [
      name,
      [...(seen[name] ?? []), ...changed].map((record) => ({ ...hide(record), ...feeOf(name, record) })),
    ]),
  );
}

/** Values of fields that nobody is shown, and of one that no class has any more. */
function hiddenIn(random: Random, { box }: Stored, outbox: unknown): Stored {
  const value = () => random.pick(WORDS) + hex(random, 4);
  return {
    ...(random.chance(0.8) && { secret: value() }),
    ...(random.chance(0.5) && { formerly: value() }),
    // Events that somebody has settled, or nobody.
    ...(outbox !== undefined && random.chance(0.5) && { _outbox: outbox }),
    ...(box !== undefined && { box: { ...(box as object), secret: value() } }),
  };
}

export function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => random.below(16).toString(16)).join('');
}
