import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, type Type } from '@nestjs/common';
import { FILTER_CATCH_EXCEPTIONS } from '@nestjs/common/constants.js';
import { ContextIdFactory, ModuleRef } from '@nestjs/core';
import { ProblemFilter } from '../../errors/index.js';
import { configOf } from '../platform/platform.js';

/**
 * Answers errors on the routes of resources with problems, whatever the application does elsewhere. A global filter of
 * the application that names the class of an error handles it here, too; one that catches everything does not.
 */
@Catch()
@Injectable()
export class ResourceFilter extends ProblemFilter {
  constructor(private readonly moduleRef: ModuleRef) {
    super();
  }

  override catch(thrown: unknown, host: ArgumentsHost): void {
    const named = this.globalFilters(host).findLast((filter) =>
      namesOf(filter).some((type) => thrown instanceof type),
    );
    if (named) named.catch(thrown, host);
    else super.catch(thrown, host);
  }

  /** The filters of the whole application: its instances, and those that Nest has made for the request. */
  private globalFilters(host: ArgumentsHost): ExceptionFilter[] {
    const config = configOf(this.moduleRef);
    const scoped = config.getGlobalRequestFilters();
    if (scoped.length === 0) return config.getGlobalFilters();
    const context = ContextIdFactory.getByRequest(host.switchToHttp().getRequest<object>());
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
