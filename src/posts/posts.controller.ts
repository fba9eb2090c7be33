import { Param } from '@nestjs/common';
import { CrudController, CrudRoute, IdPipe } from '../common/crud/index.js';
import { CurrentScope, type TenantScope } from '../common/tenancy/index.js';
import { ArchivedResult } from './dto/archived-result.js';
import { postsCrud } from './posts.crud.js';
import { PostsService } from './posts.service.js';

/** The generated handlers, with the soft-delete in the place of the hard one. */
export class PostsController extends CrudController(postsCrud) {
  constructor(private readonly posts: PostsService) {
    super(posts);
  }

  @CrudRoute('del', postsCrud, {
    summary: 'Archive a post',
    response: ArchivedResult,
    answersNotFound: false,
  })
  async archive(
    @CurrentScope() scope: TenantScope,
    @Param('id', IdPipe) id: string,
  ): Promise<ArchivedResult> {
    await this.posts.archive(scope, id);
    return { archived: true };
  }
}
