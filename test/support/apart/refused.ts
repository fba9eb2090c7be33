import type { Sent } from './requests.js';
import { type Surface, SURFACES } from './surfaces.js';
import { type Contents, partOf } from './worlds.js';

/** Records of each resource that are tried. */
const TRIED = 4;
const MISSING = '0123456789abcdef01234567';

/** Every request that is refused, or does nothing, for the sake of a record that its caller may not see. */
export function* refusedRequests(
  contents: readonly Contents[],
  tokens: readonly (string | undefined)[],
): Generator<Sent> {
  const idsOf = (name: string, seen: boolean) =>
    contents.flatMap((each) => partOf(each, seen)[name] ?? []).map(({ _id }) => String(_id));
  // Those that one database has and the other one has not, first.
  const hidden = (name: string) => {
    const ids = idsOf(name, false);
    const counted = (id: string) => ids.filter((each) => each === id).length;
    return [...ids.toSorted((a, b) => counted(a) - counted(b)).slice(0, TRIED), MISSING];
  };
  const vault = partOf(contents[0] ?? {}, true).vaults?.find(({ closedAt }) => !closedAt)?._id;
  for (const token of tokens) {
    for (const surface of SURFACES.filter(({ name }) => name !== 'todos')) {
      const path = surface.path.replace(':vaultId', String(vault));
      for (const id of hidden(surface.name)) {
        for (const request of ofRecord(surface, path, id)) yield { token, ...request };
      }
    }
    for (const id of hidden('vaults')) {
      for (const request of [...below(id), ...referring('notices', { vault: id }, hidden('notices'))])
        yield { token, ...request };
    }
    for (const id of hidden('diaries')) {
      for (const request of referring('notices', { diary: id }, hidden('notices')))
        yield { token, ...request };
    }
    for (const id of hidden('keepers')) {
      const body = { keeper: id };
      const requests = [
        ...referring('vaults', body, [String(vault), ...hidden('vaults')]),
        ...referring(`vaults/${String(vault)}/cards`, body, hidden('cards')),
        { method: 'POST', path: '/vaults/import', ...lines([{ name: 'x', ...body }, { name: 7 }]) },
      ];
      for (const request of requests) yield { token, ...request };
    }
  }
}

const lines = (bodies: readonly object[]) => ({
  body: bodies.map((body) => JSON.stringify(body)).join('\n'),
  headers: { 'Content-Type': 'application/x-ndjson' },
});

function* ofRecord({ text, archive, batches, expand }: Surface, path: string, id: string): Generator<Sent> {
  const one = `${path}/${id}`;
  const change = { [text]: 'taken' };
  for (const method of ['GET', 'HEAD']) {
    yield { method, path: one };
    yield { method, path: one, headers: { 'If-None-Match': '*' } };
    if (expand.length > 0) yield { method, path: `${one}?expand=${expand.at(-1)}` };
    if (archive) yield { method, path: `${one}?archived=include` };
  }
  const conditions: Record<string, string>[] = [
    {},
    { 'If-Match': '*' },
    { 'If-Match': '"0"' },
    { 'If-Match': 'x' },
    { Prefer: 'return=representation' },
  ];
  for (const headers of conditions) {
    yield { method: 'PATCH', path: one, body: change, headers };
    yield { method: 'DELETE', path: one, headers };
  }
  for (const body of [{}, { secret: 'x' }, { [text]: null }, []]) yield { method: 'PATCH', path: one, body };
  if (archive) yield { method: 'POST', path: `${one}/restore` };
  if (!batches.includes('bulk')) return;
  const operations = [
    { update: { _id: id, changes: change } },
    { update: { _id: id, changes: change, ifMatch: '"0"' } },
    { del: { _id: id, ifMatch: '*' } },
    { del: { _id: id } },
    { create: { secret: 'x' } },
  ];
  yield { method: 'POST', path: `${path}/bulk`, body: { operations } };
}

function* below(vault: string): Generator<Sent> {
  const path = `/vaults/${vault}/cards`;
  yield { method: 'GET', path };
  yield { method: 'GET', path: `${path}?limit=2&expand=vault` };
  yield { method: 'GET', path: `${path}/count` };
  yield { method: 'POST', path, body: { name: 'x' } };
  yield { method: 'POST', path, body: { name: 7 } };
  yield { method: 'POST', path: `${path}/bulk`, body: { operations: [{ create: { name: 'x' } }] } };
  yield { method: 'POST', path: `${path}/import`, ...lines([{ name: 'x' }]) };
}

/** Writes that would refer to a hidden record. */
function* referring(path: string, reference: object, targets: readonly string[]): Generator<Sent> {
  const body = { name: 'x', ...reference };
  yield { method: 'POST', path: `/${path}`, body };
  for (const target of targets.slice(0, 2)) yield { method: 'PATCH', path: `/${path}/${target}`, body };
  const operations = [{ create: body }, { update: { _id: targets[0], changes: body } }];
  yield { method: 'POST', path: `/${path}/bulk`, body: { operations } };
}
