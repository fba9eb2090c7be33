import type { Random } from '../random.js';
import { ACME, GLOBEX } from '../tenants.js';
import type { TestApp, TestResponse as Answer } from '../test-app.js';
import type { Body, Operation } from './isolation-checks.js';
import type { Archived, Caller, ModelRecord } from './isolation-model.js';
import { IsolationWrites } from './isolation-writes.js';
import { SURFACES } from './resources.js';
import type { Surface } from './surfaces.js';

export const INITECH = '665f1c2ab7e3a90d4c8b0003';

/** How many operations lie between two comparisons of the whole database with the model. */
const COMPARED_EVERY = 500;
/** Cursors that are remembered. */
const MAX_REMEMBERED = 200;

/** Values of fields that scope resources. */
const TENANTS = [ACME, GLOBEX, INITECH];
const OWNERS = ['ada', 'bob'];

/** A query, and the records that it names. */
type Search = readonly [query: Readonly<Record<string, string>>, named: (record: ModelRecord) => boolean];

/** A cursor of a page, and whose it is. */
interface Cursor {
  readonly list: string;
  readonly space: string;
  readonly surface: Surface;
  readonly archived: Archived;
  readonly text: string;
}

/** Carries out random operations of several tenants, and compares what each is told and what is stored with the model. */
export class IsolationRun extends IsolationWrites {
  /** How often each action was carried out. */
  readonly actions = new Map<string, number>();
  private readonly cursors: Cursor[] = [];
  private number = 0;

  constructor(
    app: TestApp,
    random: Random,
    private readonly callers: readonly Caller[],
  ) {
    super(app, random);
  }

  async carryOut(operations: number): Promise<void> {
    const actions = {
      ...({ create: 14, page: 10, list: 6, count: 6, find: 14, get: 14, update: 14, del: 6 } as const),
      ...({ restore: 4, bulk: 5, import: 3, replay: 4, cursor: 6 } as const),
    };
    const drawn = Object.entries(actions).flatMap(([name, weight]) => Array<string>(weight).fill(name));
    while (this.number < operations) {
      this.number++;
      const action = this.random.pick(drawn) as keyof typeof actions;
      this.actions.set(action, (this.actions.get(action) ?? 0) + 1);
      await this[action](this.operation());
      if (this.number % COMPARED_EVERY === 0 || this.number === operations) await this.compare();
    }
  }

  private operation(): Operation {
    const { random } = this;
    const [surface, caller] = [random.pick(SURFACES), random.pick(this.callers)];
    if (surface.name !== 'cards') return { surface, caller, path: surface.path };
    const vault = this.idOf('vaults');
    return { surface, caller, vault, path: surface.path.replace(':vaultId', vault) };
  }

  private async list(operation: Operation): Promise<void> {
    const archived = this.archivedFor(operation.surface);
    const answer = await this.read(operation, { archived });
    this.expectRecords('list', operation, answer, archived, () => true);
  }

  private async page(operation: Operation): Promise<void> {
    const { random } = this;
    const archived = this.archivedFor(operation.surface);
    const sort = random.pick(
      operation.surface.orders.filter((order) => !order.includes(operation.surface.archive ?? ' ')),
    );
    const query = { archived, sort, limit: String(1 + random.below(10)) };
    const answer = await this.read(operation, query);
    if (!this.expectLetIn('page', operation, answer, archived)) return;
    const { surface, caller, vault } = operation;
    const { length } = this.model.readable(surface, caller, archived, vault);
    this.expect(answer.body.count === length, `count ${length} of ${operation.path}`, answer);
    const list = `${operation.path}?${queryOf(query)}`;
    const { next, prev } = answer.body as Record<string, string | null>;
    const space = this.spaceOf(operation, archived);
    for (const text of [next, prev]) if (text) this.cursors.push({ list, space, surface, archived, text });
    if (this.cursors.length > MAX_REMEMBERED) this.cursors.splice(0, 2);
  }

  /** A cursor of this caller or of another one. */
  private async cursor({ caller }: Operation): Promise<void> {
    if (this.cursors.length === 0) return;
    const { list, space, surface, archived, text } = this.random.pick(this.cursors);
    const [path = '', query = ''] = list.split('?');
    const vault = surface.name === 'cards' && { vault: path.split('/')[2] };
    const operation = { surface, caller, path, ...vault };
    const answer = await this.send('GET', operation, `?${query}&after=${text}`, { archived });
    const isOwn = this.spaceOf(operation, archived) === space;
    const expected = this.refusal(operation, false, archived) ?? (isOwn ? 200 : 400);
    this.expectStatus('cursor', operation, answer, expected);
  }

  private async count(operation: Operation): Promise<void> {
    const archived = this.archivedFor(operation.surface);
    await this.countOf('count', operation, {}, archived, () => true);
  }

  private async countOf(
    action: string,
    operation: Operation,
    query: Search[0],
    archived: Archived,
    named: Search[1],
  ): Promise<void> {
    const suffix = `/count?${queryOf({ ...query, archived })}`;
    const answer = await this.send('GET', operation, suffix, { archived });
    if (!this.expectLetIn(action, operation, answer, archived)) return;
    const { surface, caller, vault, path } = operation;
    const { length } = this.model.readable(surface, caller, archived, vault).filter(named);
    this.expect(answer.body.count === length, `count ${length} of ${path}`, answer);
  }

  /** Looks for a record, of whomever, by its word or its identifier, in a list or in a count. */
  private async find(operation: Operation): Promise<void> {
    const { surface } = operation;
    const target = this.targetOf(surface.name);
    if (!target) return;
    const archived = this.archivedFor(surface);
    const [query, named] = this.random.pick([...this.searchesFor(target), ...this.scopeSearches(surface)]);
    if (!this.random.chance(0.7)) return this.countOf('find', operation, query, archived, named);
    const answer = await this.read(operation, { ...query, archived });
    this.expectRecords('find', operation, answer, archived, named);
  }

  private searchesFor({ id, name, word }: ModelRecord): Search[] {
    const other = this.idOf(name);
    const hasWord = (record: ModelRecord) => record.word === word;
    const { text = '' } = SURFACES.find((surface) => surface.name === name) ?? {};
    return [
      [{ [text]: word }, hasWord],
      [{ [`${text}[contains]`]: word }, hasWord],
      [{ q: word }, hasWord],
      [{ _id: id }, (record) => record.id === id],
      [{ '_id[in]': `${id},${other}` }, (record) => record.id === id || record.id === other],
    ];
  }

  /** Filters by the fields that scope a resource: they must never take the place of the scope. */
  private scopeSearches({ filters }: Surface): Search[] {
    const values = { tenant: this.random.pick(TENANTS), owner: this.random.pick(OWNERS) };
    const fields = (['tenant', 'owner'] as const).filter((field) => field in filters);
    return fields.flatMap((field): Search[] => {
      const value = values[field];
      const others = `${values[field]},${field === 'tenant' ? ACME : 'ada'}`;
      return [
        [{ [field]: value }, (record) => record[field] === value],
        [{ [`${field}[ne]`]: value }, (record) => record[field] !== value],
        [{ [`${field}[in]`]: others }, (record) => others.split(',').includes(record[field] ?? '')],
        [{ [`${field}[exists]`]: 'true' }, (record) => record[field] !== undefined],
      ];
    });
  }

  private async get(operation: Operation): Promise<void> {
    const target = this.targetIn(operation);
    if (!target) return;
    const archived = this.archivedFor(operation.surface);
    const query = queryOf({ archived, expand: this.expandFor(operation.surface) });
    const answer = await this.send('GET', operation, `/${target.id}?${query}`, { archived });
    const isThere = this.model.mayRead(target, operation.caller, archived) && this.isAt(operation, target);
    const expected = this.refusal(operation, false, archived) ?? (isThere ? 200 : 404);
    this.expectStatus('get', operation, answer, expected);
    if (answer.status !== 200) return;
    this.expect(answer.body[operation.surface.text] === target.word, `the word ${target.word}`, answer);
  }

  /** A list or page in any form. */
  private read(operation: Operation, query: Readonly<Record<string, string | undefined>>): Promise<Answer> {
    const { random } = this;
    const { surface } = operation;
    const isLines = query.limit === undefined && random.chance(0.3);
    const parameters = { ...query, expand: this.expandFor(surface) };
    return this.send('GET', operation, `?${queryOf(parameters)}`, {
      archived: query.archived as Archived,
      ...(isLines && { headers: { Accept: 'application/x-ndjson' } }),
    });
  }

  private expectRecords(
    action: string,
    operation: Operation,
    answer: Answer,
    archived: Archived,
    named: (record: ModelRecord) => boolean,
  ): void {
    if (!this.expectLetIn(action, operation, answer, archived)) return;
    const { surface, caller, vault, path } = operation;
    const expected = this.model.readable(surface, caller, archived, vault).filter(named);
    const [wanted, got] = [
      expected.map(({ id, word }) => `${id} ${word}`),
      (answer.body as Body[]).map((record) => `${String(record._id)} ${String(record[surface.text])}`),
    ].map((texts) => texts.sort().join());
    this.expect(wanted === got, `${action} of ${path} has ${wanted}`, answer);
  }

  /** Whose cursors are good for a list: those of whoever is scoped alike. */
  private spaceOf({ surface: { name }, caller: { tenant, sub } }: Operation, archived: Archived): string {
    if (name === 'todos' || name === 'notices' || (name === 'posts' && !archived)) return '';
    return name === 'diaries' ? `${tenant}/${sub}` : `${tenant}`;
  }

  private archivedFor({ archive }: Surface): Archived {
    return archive && this.random.chance(0.4) ? this.random.pick(['only', 'include'] as const) : undefined;
  }

  private expandFor({ expand }: Surface): string | undefined {
    return expand.length > 0 && this.random.chance(0.5) ? this.random.pick(expand) : undefined;
  }
}

function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return given.map((pair) => pair.map((part = '') => encodeURIComponent(part)).join('=')).join('&');
}
