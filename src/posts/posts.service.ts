import { Injectable } from '@nestjs/common';
import { CrudService } from '../common/crud/index.js';
import type { TenantScope } from '../common/tenancy/index.js';
import { postsCrud } from './posts.crud.js';

/** The generated verbs, and the archive. */
@Injectable()
export class PostsService extends CrudService.for(postsCrud) {
  /** Marks the scope's post as deleted now, also if it is archived already; changes nothing if none matches. */
  async archive(scope: TenantScope, id: string): Promise<void> {
    await this.change('del', scope, id, { set: { deletedAt: new Date() } }, { hidden: true });
  }
}
