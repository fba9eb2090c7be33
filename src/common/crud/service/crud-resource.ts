import { Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import type { InstallationKey } from '../../database/index.js';
import type { EntityEventPublisher } from '../../events/index.js';
import { isOpen } from '../../tenancy/index.js';
import type { AuditTrail } from '../audit/audit-trail.js';
import type { CrudDefinition, ReferenceDefinition } from '../definition/crud-definition.js';
import { KIND } from '../definition/kinds.js';
import type { CrudHooks } from '../options/crud-hooks.js';
import type { SearchIndex } from '../search/search-index.js';
import type { CrudStore } from '../store/crud.store.js';
import type { StoreFilter } from '../schema/store-types.js';
import { fieldAt, type InputReader } from '../../fields/index.js';
import { ACTIONS, type CrudAction } from '../options/crud-options.js';
import { checkReferred } from '../definition/query-definition.js';
import { failIf } from '../options/checks.js';
import { unreadableBy } from '../definition/events.js';
import { Access } from './access.js';
import { Parents, type RecordGuards } from './readable-records.js';
import { holdingOf } from './references.js';
import type { Crud, UnitOfWork } from './unit-of-work.js';
import { Writes } from './writes.js';

/** What a resource is made of, besides its definition. */
export interface ResourceParts {
  readonly store: CrudStore<object>;
  readonly registry: Resources;
  readonly moduleRef: ModuleRef;
  readonly events: EntityEventPublisher;
  readonly key: InstallationKey;
  readonly guards: RecordGuards;
  /** Maximum size of a body, and of what is merged from one. Unit: bytes. */
  readonly bodyLimit: () => number;
  /** @throws IndexUnavailableError if the database cannot build an index of the resource */
  readonly requireIndexes: () => void;
  /** Records the writes; undefined if the resource is not audited. */
  readonly audit?: AuditTrail;
  readonly crud: Crud;
  /** Undefined if the resource is not searched. */
  readonly search?: SearchIndex;
  /** Called if another resource restricts the deletion of its records. */
  readonly onRestricted: () => void;
}

/** A resource of a running application, which its service works with. */
export class CrudResource<
  Entity extends object = object,
  Create extends object = object,
  Update extends object = object,
> {
  readonly store: CrudStore<Entity>;
  readonly access: Access;
  readonly writes: Writes<Entity, Create, Update>;
  /** Undefined if the resource is not nested below another one. */
  readonly parents?: Parents;

  constructor(
    readonly definition: CrudDefinition,
    readonly parts: ResourceParts,
  ) {
    this.store = parts.store as CrudStore<Entity>;
    this.access = new Access(definition);
    if (definition.parent) this.parents = new Parents(definition.parent, this, parts.registry);
    this.writes = new Writes(this);
  }

  /** The paths that a read needs to find out the parents of records. */
  get parentFields(): readonly string[] {
    const { parent } = this.definition;
    return parent ? [parent.field as string] : [];
  }

  /** A class of hooks is taken when one runs, since it may inject the service of the resource. */
  get hooks(): CrudHooks<object, object> {
    const { hooks } = this.definition;
    return typeof hooks === 'function' ? this.parts.moduleRef.get(hooks) : hooks;
  }

  /** What reads the changes of the record that a filter finds: the class of its kind, if it has one. */
  async readerOf(filter: StoreFilter): Promise<InputReader<object>> {
    const { kinds, updateReader } = this.definition;
    return updateReader.of(kinds && (await this.store.findOne(filter, [KIND])));
  }

  /** The same resource with a store in the transaction of a unit of work. */
  within({ database, resources, afterCommit }: UnitOfWork): CrudResource {
    const { definition, parts } = this;
    return new CrudResource(definition, {
      ...parts,
      registry: resources,
      store: parts.store.within(database, holdingOf(definition, resources)),
      audit: parts.audit?.within(database, afterCommit),
    });
  }
}

export type Resources = Pick<CrudRegistry, 'of' | 'referrersOf'>;

interface Referrer {
  readonly resource: CrudResource;
  readonly reference: ReferenceDefinition;
}

/** The resources of one application, where parents and references find each other. */
@Injectable()
export class CrudRegistry implements OnApplicationBootstrap {
  private readonly resources = new Map<Type<object>, CrudResource>();
  private readonly referrers = new Map<Type<object>, Referrer[]>();

  /** @throws Error if another resource has the same name, path or class name */
  add(resource: CrudResource): void {
    const { definition } = resource;
    for (const { definition: other } of this.resources.values()) rejectDuplicates(definition, other);
    this.resources.set(definition.entity, resource);
    for (const reference of definition.references) {
      if (reference.onDelete === 'ignore') continue;
      this.referrers.set(reference.to, [...this.referrersOf(reference.to), { resource, reference }]);
    }
  }

  /** @throws Error if the entity is not a resource of this application */
  of(entity: Type<object>): CrudResource {
    const found = this.resources.get(entity);
    if (found) return found;
    throw new Error(
      `${entity.name} is not a resource. Import CrudModule.forFeature({ entity: ${entity.name}, … }).`,
    );
  }

  /** The resources that refer to an entity and are affected by its deletion. */
  referrersOf(entity: Type<object>): readonly Referrer[] {
    return this.referrers.get(entity) ?? [];
  }

  /** Tells, once all resources are known, whether the deletion of a record may affect those of others. */
  referralOf(entity: Type<object>): () => boolean {
    return () => this.referrers.has(entity);
  }

  /** Checks what resources declare about each other, once all are known. */
  onApplicationBootstrap(): void {
    for (const resource of this.resources.values()) {
      const { definition } = resource;
      // Nest names a class of hooks that is not one for all requests.
      void resource.hooks;
      const { events, parent, references } = definition;
      if (events?.data === 'record') this.checkReaders(resource, events.tenant);
      if (parent) this.checkedTarget(definition, parent.field, parent.entity, 'parent.entity', ACTIONS);
      for (const { to, path, onDelete } of references) {
        const where = `references.${path}.to`;
        const target = this.checkedTarget(definition, path, to, where, ['create', 'update']);
        checkReferred(definition, target.definition);
        if (onDelete === 'restrict') target.parts.onRestricted();
      }
    }
  }

  /** Checks that everyone of a tenant may read its records, which events show to them. */
  private checkReaders(resource: CrudResource, tenant: string): void {
    let above: CrudResource | undefined = resource;
    for (; above; above = above.definition.parent && this.resources.get(above.definition.parent.entity)) {
      const { definition, parts } = above;
      const reason =
        unreadableBy(definition, above === resource ? tenant : undefined) ??
        (parts.guards.areDeclared ? 'the controller has guards' : undefined);
      if (reason === undefined) continue;
      const where = above === resource ? '' : ` of ${definition.label}`;
      resource.definition.fail(
        `events would show a record to callers who may not read it, since ${reason}${where}. Write events: { data: 'id' }.`,
      );
    }
  }

  /**
   * The resource that the option `where` names for a field. The decorator of the field says the same thing; a class that
   * extends the one that it names fits, too.
   *
   * @param writes actions that look up its records
   */
  private checkedTarget(
    { disabled, entity, fail, inputs, isolation }: CrudDefinition,
    path: string,
    to: Type<object>,
    where: string,
    writes: readonly CrudAction[],
  ): CrudResource {
    const names = `${where} names ${to.name}`;
    for (const owner of [entity, inputs.create, inputs.update]) {
      const named = fieldAt(owner, path)?.reference?.();
      if (!named || to === named || to.prototype instanceof named) continue;
      fail(
        `${names}, but @IsReference() of ${owner.name}.${path} names ${named.name}. Name one class in both.`,
      );
    }
    const target = this.resources.get(to);
    if (!target)
      return fail(
        `${names}, which is not a resource. Import CrudModule.forFeature({ entity: ${to.name}, … }).`,
      );
    const open = writes.find((action) => !disabled.has(action) && isOpen(isolation[action]));
    if (open !== undefined && !isOpen(target.definition.isolation.get))
      fail(
        `${names}, which takes a token to read, but the action ${open} asks for none. Add isolationFields.${open}.`,
      );
    return target;
  }
}

function rejectDuplicates(one: CrudDefinition, other: CrudDefinition): void {
  failIf(one.fail, '', {
    [`the class is the entity of the resource "${other.name}" already. Extend it for a second resource.`]:
      one.entity === other.entity,
    [`another resource is named "${one.name}", with the entity ${other.label}. Choose another name.`]:
      one.name === other.name,
    [`the entity of the resource "${other.name}" is another class named ${one.label}. Rename one of the two.`]:
      one.label === other.label,
    [`the resource "${other.name}" has the same path "${one.path}". Choose another path.`]:
      one.path === other.path,
  });
}
