import {
  type ArgumentsHost,
  Body,
  Catch,
  type ExceptionFilter,
  Inject,
  Injectable,
  Param,
  type Type,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { FILTER_CATCH_EXCEPTIONS } from '@nestjs/common/constants.js';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import { ProblemFilter } from '../../errors/index.js';
import { queryOf } from '../../http/index.js';
import { CurrentScope, Isolated, type TenantScope } from '../../tenancy/index.js';
import { bulkResponse } from '../batch/carry-out.js';
import { importLines } from '../batch/import-lines.js';
import { CurrentItems, type Items } from '../batch/items.js';
import type { BulkRequest } from '../batch/operation.js';
import { getCrudServiceToken } from '../options/crud.tokens.js';
import { CrudDefinition } from '../definition/crud-definition.js';
import { BATCH_HANDLERS, type CrudOptions, HANDLERS } from '../options/crud-options.js';
import type { Changes, Stored } from '../options/records.js';
import { configOf } from '../platform/platform.js';
import { asksForArchived } from '../definition/archive.js';
import type { ListQuery, ReadQuery } from '../query/list-query.js';
import type { Page } from '../query/pages.js';
import { isPageQuery } from '../query/read-query.js';
import { generatedRoutesOf } from '../routes/routes.js';
import { CrudService } from '../service/crud.service.js';
import { CrudInterceptor, CurrentQuery } from './crud.interceptor.js';
import { markGenerated, planOf } from './plan.js';

/** Responds to errors with problems. A global filter that names the class of an error handles it here, too. */
@Catch()
@Injectable()
class ResourceFilter extends ProblemFilter {
  constructor(private readonly moduleRef: ModuleRef) {
    super();
  }

  /** @returns that the error has been handled: without it, Nest throws the errors of sub-requests */
  override catch(thrown: unknown, host: ArgumentsHost): true {
    const named = this.globalFilters(host).findLast((filter) =>
      namesOf(filter).some((type) => thrown instanceof type),
    );
    if (named) named.catch(thrown, host);
    else super.catch(thrown, host);
    return true;
  }

  /** The filters of the whole application: its instances, and those that Nest has made for the request. */
  private globalFilters(host: ArgumentsHost): ExceptionFilter[] {
    const config = configOf(this.moduleRef);
    const context = ContextIdFactory.getByRequest(host.switchToHttp().getRequest<object>());
    const scoped = config.getGlobalRequestFilters();
    const made = scoped.map((wrapper) => wrapper.getInstanceByContextId(context).instance);
    return [...config.getGlobalFilters(), ...made];
  }
}

/** The classes that a filter names; none for one that catches everything. */
function namesOf(filter: ExceptionFilter | undefined): readonly Type<object>[] {
  const named = (filter && Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, filter.constructor)) as
    Type<object>[] | undefined;
  return named?.filter((type) => type !== Error) ?? [];
}

/** The handlers of a generated controller. Your own controller overrides them by ordinary inheritance. */
export interface CrudController<
  Entity extends object,
  Create extends object,
  Update extends object = Create,
  Service = CrudService<Entity, Create, Update>,
> {
  readonly service: Service;
  create(scope: TenantScope, input: Create): Promise<Stored<Entity>>;
  /** Streams every record, or returns one page if the query asks for one. */
  list(scope: TenantScope, query: ListQuery): AsyncIterable<Stored<Entity>> | Promise<Page<Stored<Entity>>>;
  count(scope: TenantScope, query: ListQuery): Promise<number>;
  get(scope: TenantScope, id: string, query: ReadQuery): Promise<Stored<Entity>>;
  update(scope: TenantScope, id: string, changes: Changes<Update>): Promise<Stored<Entity>>;
  /** An override may return something other than the removed record if `routes.del.response` declares its class. */
  del(scope: TenantScope, id: string): Promise<object>;
  /** Exists only if the resource has an archive. */
  restore(scope: TenantScope, id: string): Promise<Stored<Entity>>;
}

/**
 * Makes the controller class of a resource. Extend it to replace handlers or to add routes with `@CrudAction`:
 *
 * ```ts
 * export class NotesController extends CrudController(notes, NotesService) {
 *   override create(scope: TenantScope, input: NoteInput) { … return super.create(scope, input); }
 * }
 * ```
 *
 * An override keeps the route, isolation, guards, validation and documentation of the handler it replaces, whatever
 * decorators it has. Most overrides are simpler in the service, where they apply to every caller of the verb.
 *
 * @param service class of your own service, for the type of `this.service`; also pass it to `forFeature`
 */
export function CrudController<
  Entity extends object,
  Create extends object,
  Update extends object,
  Service extends CrudService<Entity, Create, Update> = CrudService<Entity, Create, Update>,
>(
  options: CrudOptions<Entity, Create, Update>,
  service?: Type<Service>,
): Type<CrudController<Entity, Create, Update, Service>> {
  const definition = new CrudDefinition(options);

  // On the class, because decorators of an override replace those of the method but are added to these.
  @UseFilters(ResourceFilter)
  @UseInterceptors(CrudInterceptor)
  @Isolated((handler, controller, request) => {
    const { archivedIsolation, isolation, items, route } = planOf(controller, handler);
    if (archivedIsolation === isolation) return [isolation, ...items];
    const query = route?.body === 'query' ? Object(request.body) : queryOf(request);
    return [asksForArchived(query) ? archivedIsolation : isolation, ...items];
  })
  class GeneratedController implements CrudController<Entity, Create, Update> {
    @Inject(getCrudServiceToken(definition.entity))
    readonly service!: CrudService<Entity, Create, Update>;

    create(@CurrentScope() scope: TenantScope, @Body() input: Create) {
      return this.service.create(scope, input);
    }

    list(@CurrentScope() scope: TenantScope, @CurrentQuery() query: ListQuery) {
      return isPageQuery(query) ? this.service.page(scope, query) : this.service.list(scope, query);
    }

    count(@CurrentScope() scope: TenantScope, @CurrentQuery() query: ListQuery) {
      return this.service.count(scope, query);
    }

    get(@CurrentScope() scope: TenantScope, @Param('id') id: string, @CurrentQuery() query: ReadQuery) {
      return this.service.get(scope, id, query);
    }

    update(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() changes: Changes<Update>) {
      const isGenerated = this.service.update === CrudService.prototype.update;
      const isUnread = isGenerated && scope.context.isRecordUnread;
      return this.service.update(scope, id, changes, { isUnread });
    }

    del(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
      return this.service.del(scope, id);
    }

    restore(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
      return this.service.restore(scope, id);
    }

    bulk(@CurrentItems() items: Items, @Body() request: BulkRequest) {
      return bulkResponse(request, items, this.service);
    }

    import(@CurrentItems() items: Items) {
      return importLines(items, this.service);
    }
  }

  const offered = generatedRoutesOf(definition).map(({ handler }) => handler);
  for (const handler of [...HANDLERS, ...BATCH_HANDLERS])
    if (!offered.includes(handler)) Reflect.deleteProperty(GeneratedController.prototype, handler);
  Object.defineProperty(GeneratedController, 'name', { value: `${definition.label}Controller` });
  markGenerated(GeneratedController, definition, service);
  return GeneratedController as unknown as Type<CrudController<Entity, Create, Update, Service>>;
}
