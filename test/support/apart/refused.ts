import type { Sent } from './requests.js';
import { SURFACES } from './resources.js';
import { REFERENCES, type Surface } from './surfaces.js';
import type { Contents } from './worlds.js';

/** Records of each resource that are tried. */
const TRIED = 4;
const MISSING = '0123456789abcdef01234567';
const VALUES: Readonly<Record<string, unknown>> = { kind: 'dated', days: [1] };

/** Every request that is refused, or does nothing, for the sake of a record that one world alone has. */
export function* refusedRequests(
  contents: readonly Contents[],
  tokens: readonly (string | undefined)[],
): Generator<Sent> {
  const idsOf = (name: string) => contents.flatMap((each) => each[name] ?? []).map(({ _id }) => String(_id));
  const inWorlds = (name: string, count: number) =>
    idsOf(name).filter((id, _i, ids) => ids.filter((each) => each === id).length === count);
  const hidden = (name: string) => [...inWorlds(name, 1).slice(0, TRIED), MISSING];
  const requests: Sent[] = SURFACES.filter(({ name }) => name !== 'todos').flatMap((surface) => {
    const [, parent] = /:(\w+)Id/.exec(surface.path) ?? [];
    const at = (id = MISSING) => surface.path.replace(/:\w+Id/, id);
    const known = inWorlds(surface.name, 2);
    const path = at(parent && inWorlds(`${parent}s`, 2).at(-1));
    const references = surface.input.filter((field) => field in REFERENCES);
    return [
      ...hidden(surface.name).flatMap((id) => [...ofRecord(surface, path, id)]),
      ...(parent ? hidden(`${parent}s`) : []).flatMap((id) => [...below(surface, at(id))]),
      ...references.flatMap((field) =>
        hidden(REFERENCES[field] as string).flatMap((id) => [
          ...referring(surface, path, { [field]: id }, [...known.slice(-1), ...hidden(surface.name)]),
        ]),
      ),
    ];
  });
  for (const token of tokens) for (const request of requests) yield { token, ...request };
}

/** A body of a create. */
const bodyOf = ({ input }: Surface) =>
  Object.fromEntries(
    input
      .filter((field) => field.endsWith('!'))
      .map((field) => field.slice(0, -1))
      .map((field) => [field, VALUES[field] ?? 'x']),
  );

const imported = (path: string, bodies: readonly object[]) => ({
  ...{ method: 'POST', path: `${path}/import`, headers: { 'Content-Type': 'application/x-ndjson' } },
  body: bodies.map((body) => JSON.stringify(body)).join('\n'),
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
  const headed = [
    {},
    ...['*', '"0"', 'x'].map((tag) => ({ 'If-Match': tag })),
    { Prefer: 'return=representation' },
  ];
  for (const headers of headed as Record<string, string>[]) {
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

/** What is below a hidden parent. */
function* below(surface: Surface, path: string): Generator<Sent> {
  const create = bodyOf(surface);
  yield { method: 'GET', path };
  yield { method: 'GET', path: `${path}?limit=2&expand=${surface.expand[0]}` };
  yield { method: 'GET', path: `${path}/count` };
  for (const body of [create, { name: 7 }]) yield { method: 'POST', path, body };
  yield { method: 'POST', path: `${path}/bulk`, body: { operations: [{ create }] } };
  yield imported(path, [create]);
}

/** Writes that would refer to a hidden record. */
function* referring(
  surface: Surface,
  path: string,
  reference: object,
  targets: readonly string[],
): Generator<Sent> {
  const create = { ...bodyOf(surface), ...reference };
  yield { method: 'POST', path, body: create };
  for (const target of targets.slice(0, 2))
    yield { method: 'PATCH', path: `${path}/${target}`, body: reference };
  const operations = [{ create }, { update: { _id: targets[0], changes: reference } }];
  if (surface.batches.includes('bulk')) yield { method: 'POST', path: `${path}/bulk`, body: { operations } };
  if (surface.batches.includes('import')) yield imported(path, [create, { name: 7 }]);
}
