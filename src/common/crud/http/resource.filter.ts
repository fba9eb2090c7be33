import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, type Type } from '@nestjs/common';
import { FILTER_CATCH_EXCEPTIONS } from '@nestjs/common/constants.js';
import { ModuleRef } from '@nestjs/core';
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
    const named = configOf(this.moduleRef)
      .getGlobalFilters()
      .findLast((filter) => namesOf(filter).some((type) => thrown instanceof type));
    if (named) named.catch(thrown, host);
    else super.catch(thrown, host);
  }
}

/** The classes that a filter names; none for one that catches everything. */
function namesOf(filter: ExceptionFilter): readonly Type<object>[] {
  return (Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, filter.constructor) ?? []) as Type<object>[];
}
