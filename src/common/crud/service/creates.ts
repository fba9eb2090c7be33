import { Types } from 'mongoose';
import type { TenantScope } from '../../tenancy/index.js';
import { plain } from '../definition/output.js';
import type { Stored } from '../options/records.js';
import type { OutboxEntry } from '../store/outbox.js';
import { differences, requireTexts } from './changes.js';
import { keepIsolation, recordOfDraft } from './draft.js';
import { WriteSteps } from './write-steps.js';

/** The turns of concurrent creates, so that their records are stored in the order of the requests. */
export class Turns {
  private last: Promise<void> = Promise.resolve();

  /** Takes the next turn: `come` resolves when all earlier ones have passed. */
  next(): Turn {
    const come = this.last;
    let pass: () => void = () => undefined;
    this.last = new Promise((resolve) => (pass = resolve));
    return { come, pass };
  }
}

/** One turn. Its holder must pass it on, however the create ends. */
interface Turn {
  readonly come: Promise<void>;
  readonly pass: () => void;
}

/** Additional input of one create. */
export interface CreatePlace {
  /** When the record may be stored. @default at once */
  readonly turn?: Turn;
}

type Fields = Readonly<Record<string, unknown>>;

const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : 0);

/** A record that a create has stored, with what its hooks and event need. */
interface Made<Entity> {
  readonly stored: Stored<Entity>;
  readonly entry: OutboxEntry;
}

/** Carries out the creates of a resource: hooks, references, the one atomic command, events. */
export class Creates<Entity extends object, Create extends object, Update extends object> extends WriteSteps<
  Entity,
  Create,
  Update
> {
  /**
   * Stores a record with the input and the scope's fields, and runs the create hooks; only once per
   * idempotency key.
   */
  async insert(scope: TenantScope, input: Create): Promise<Stored<Entity>> {
    const reservation = scope.request?.reservation;
    const insert = (id?: Types.ObjectId) => this.make(scope, input, id);
    const made = reservation
      ? await reservation.once(this.resource.definition.name, { find: this.finder(scope), insert })
      : await insert();
    return this.announce(scope, input, made);
  }

  /**
   * The record that an earlier request with the same key has stored, if this one was rejected before it could
   * find it. The after-hooks run again, since nobody knows whether they ran then.
   */
  async recall(scope: TenantScope, input: Create): Promise<Stored<Entity> | undefined> {
    const { name } = this.resource.definition;
    const made = await scope.request?.reservation?.recall(name, this.finder(scope));
    return made && this.announce(scope, input, made);
  }

  private finder(scope: TenantScope): (id: Types.ObjectId) => Promise<Made<Entity> | undefined> {
    const { access, store } = this.resource;
    return async (_id) => {
      const stored = await store.findOne({ ...access.fields('create', scope), _id });
      if (!stored) return undefined;
      const names = Object.keys(stored);
      return { stored, entry: this.entry(scope, 'create', names, { id: _id, at: stored.createdAt }) };
    };
  }

  private async make(scope: TenantScope, input: Create, id?: Types.ObjectId): Promise<Made<Entity>> {
    const { access, definition, hooks, references, store } = this.resource;
    const fields = access.fields('create', scope);
    const entries = Object.entries(input).filter(([name]) => !definition.writeOnly.has(name));
    const given = Object.fromEntries(entries);
    const values = access.isolated(scope, given);
    await this.checkRoom(given, values);
    // Before the hook, which may look up the referenced records, and again after it, for references that it
    // set.
    await references.check('create', scope, values);
    let record = values;
    if (hooks.has('beforeCreate')) {
      record = await recordOfDraft(definition, values, (draft) =>
        hooks.before('beforeCreate', { ...this.context(scope), action: 'create', input, record: draft }),
      );
      keepIsolation(definition, 'beforeCreate', record, fields);
      // Middleware of the schema may add more.
      if (!store.hasMiddleware) requireTexts(definition.entity, definition.schema, record);
      await references.check('create', scope, differences(values, record));
    }
    const turn = scope.request?.crudPlace?.turn;
    await turn?.come;
    const isNamed = definition.outbox || definition.audit !== undefined;
    const _id = id ?? (isNamed ? new Types.ObjectId() : undefined);
    const placed = access.isolated(scope, { ...(_id && { _id }), ...record });
    const entry = this.entry(scope, 'create', Object.keys(record), { id: placed._id });
    const insert = () => this.translated(() => store.insert(placed, entry, () => turn?.pass()));
    // Audit records are stored in the order in which they begin, and the records after them.
    const stored = await this.audited(scope, _id, entry, insert, () => turn?.pass());
    return { stored, entry };
  }

  /** @throws ValidationError if a list has no room for the caller */
  private async checkRoom(given: Fields, isolated: Fields): Promise<void> {
    const { createReader } = this.resource.definition;
    const full = createReader.fields.filter(({ name, schema: { maxItems = Infinity } }) => {
      const length = lengthOf(isolated[name]);
      return length > maxItems && length > lengthOf(given[name]);
    });
    if (full.length === 0) return;
    const lists = Object.fromEntries(full.map(({ name }) => [name, plain(isolated[name])]));
    await createReader.check(lists as Partial<Create>);
  }

  private async announce(
    scope: TenantScope,
    input: Create,
    { stored, entry }: Made<Entity>,
  ): Promise<Stored<Entity>> {
    if (!this.resource.hooks.isHeard('afterCreate')) return stored;
    const event = this.event(scope, stored, entry);
    await this.resource.hooks.after('afterCreate', event, {
      ...this.context(scope),
      ...this.copy(event, scope, stored),
      input,
    });
    return stored;
  }
}
