import { Injectable } from '@nestjs/common';
import { type ArchiveOptions, CrudService } from '../common/crud/index.js';
import type { TenantScope } from '../common/tenancy/index.js';
import { postsCrud } from './posts.crud.js';

/** The generated verbs, except that an archived post can be archived again. */
@Injectable()
export class PostsService extends CrudService.for(postsCrud) {
  override archive(scope: TenantScope, id: string, options: ArchiveOptions = {}) {
    return super.archive(scope, id, { ...options, archived: 'include' });
  }
}
