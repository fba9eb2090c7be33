import { Body, Controller, Inject, Param, Query, type Type } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentScope, type TenantScope } from '../tenancy/index.js';
import { createBodyPipe, updateBodyPipe } from './body.pipe.js';
import { CrudRoute } from './crud-route.decorator.js';
import { defineCrud } from './crud.definition.js';
import type { CrudOptions, Stored } from './crud-options.interface.js';
import { CRUD_HANDLERS, CRUD_POLICY } from './crud.policy.js';
import type { Changes, CrudService } from './crud.service.js';
import { getCrudServiceToken } from './crud.tokens.js';
import { IdPipe } from './id.pipe.js';
import type { Page } from './query/page.js';
import { type PageQuery, PageQueryPipe } from './query/page-query.js';

/** Metadata key under which a generated controller keeps the definition it was made from. */
export const CRUD_DEFINITION = 'crud:definition';

/** The handlers of a generated controller; a feature's own controller overrides them by ordinary inheritance. */
export interface CrudController<Entity extends object, Input extends object> {
  /** Every record as it is read, or one page where the query asks for one. */
  list(scope: TenantScope, page?: PageQuery): unknown;
  count(scope: TenantScope): Promise<number>;
  get(scope: TenantScope, id: string): Promise<Stored<Entity>>;
  create(scope: TenantScope, input: Input): Promise<Stored<Entity>>;
  update(scope: TenantScope, id: string, changes: Changes<Input>): Promise<{ updated: true }>;
  del(scope: TenantScope, id: string): Promise<{ deleted: true }>;
}

/**
 * Makes the controller class of a resource: real methods with real decorators. Extend it to replace single handlers:
 *
 * ```ts
 * @Injectable()
 * export class NotesController extends CrudController(notes) {
 *   override async create(scope: TenantScope, input: NoteInput) { … return super.create(scope, input); }
 * }
 * ```
 *
 * An override keeps the route, guards, validation and documentation of the handler it replaces. A disabled action has
 * no handler; give its place to a method of your own with `@CrudRoute('del', notes)`.
 */
export function CrudController<Entity extends object, Input extends object>(
  options: CrudOptions<Entity, Input>,
): Type<CrudController<Entity, Input>> {
  const definition = defineCrud(options);
  const createBody = createBodyPipe(options.input);
  const updateBody = updateBodyPipe(options.input);

  @ApiTags(definition.tag)
  @Controller(definition.path)
  class GeneratedController implements CrudController<Entity, Input> {
    constructor(
      @Inject(getCrudServiceToken(definition.entity)) private readonly service: CrudService<Entity, Input>,
    ) {}

    @CrudRoute('create', options)
    create(@CurrentScope() scope: TenantScope, @Body(createBody) input: Input): Promise<Stored<Entity>> {
      return this.service.create(scope, input);
    }

    @CrudRoute('list', options)
    list(
      @CurrentScope() scope: TenantScope,
      @Query(PageQueryPipe) page?: PageQuery,
    ): AsyncIterable<Stored<Entity>> | Promise<Page<Stored<Entity>>> {
      return page ? this.service.page(scope, page) : this.service.list(scope);
    }

    @CrudRoute('count', options)
    count(@CurrentScope() scope: TenantScope): Promise<number> {
      return this.service.count(scope);
    }

    @CrudRoute('get', options)
    get(@CurrentScope() scope: TenantScope, @Param('id', IdPipe) id: string): Promise<Stored<Entity>> {
      return this.service.get(scope, id);
    }

    @CrudRoute('update', options)
    async update(
      @CurrentScope() scope: TenantScope,
      @Param('id', IdPipe) id: string,
      @Body(updateBody) changes: Changes<Input>,
    ): Promise<{ updated: true }> {
      await this.service.update(scope, id, changes);
      return { updated: true };
    }

    @CrudRoute('del', options)
    async del(
      @CurrentScope() scope: TenantScope,
      @Param('id', IdPipe) id: string,
    ): Promise<{ deleted: true }> {
      await this.service.del(scope, id);
      return { deleted: true };
    }
  }

  for (const handler of CRUD_HANDLERS) {
    if (definition.disabled.has(CRUD_POLICY[handler].action))
      Reflect.deleteProperty(GeneratedController.prototype, handler);
  }
  Reflect.defineMetadata(CRUD_DEFINITION, definition, GeneratedController);
  Object.defineProperty(GeneratedController, 'name', { value: `${definition.label}Controller` });
  return GeneratedController;
}
