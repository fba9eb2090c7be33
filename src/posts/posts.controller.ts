import { Param } from '@nestjs/common';
import { ArchivedResult, CrudAction, CrudController } from '../common/crud/index.js';
import { CurrentScope, type TenantScope } from '../common/tenancy/index.js';
import { postsCrud } from './posts.crud.js';
import { PostsService } from './posts.service.js';

/** The generated handlers, except that DELETE returns `archived: true` even if no post matched. */
export class PostsController extends CrudController(postsCrud, PostsService) {
  @CrudAction(postsCrud, {
    method: 'DELETE',
    path: ':id',
    isolatedAs: 'del',
    summary: 'Archive a post; the answer is the same if your tenant has no such post',
    response: ArchivedResult,
    errors: [],
  })
  async archive(@CurrentScope() scope: TenantScope, @Param('id') id: string): Promise<ArchivedResult> {
    await this.service.archive(scope, id);
    return { archived: true };
  }
}
