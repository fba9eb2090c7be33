import { Injectable } from '@nestjs/common';
import { CrudResource, CrudService, InjectCrud } from '../common/crud/index.js';
import type { TenantScope } from '../common/tenancy/index.js';
import type { PostInput } from './dto/post-input.js';
import { Post } from './post.schema.js';

/** The generated verbs, and the archive. */
@Injectable()
export class PostsService extends CrudService<Post, PostInput> {
  constructor(@InjectCrud(Post) resource: CrudResource<Post, PostInput>) {
    super(resource);
  }

  /** Marks the scope's post as deleted now, also where it is so already; changes nothing where none matches. */
  async archive(scope: TenantScope, id: string): Promise<void> {
    await this.store.update(this.scopedTo(scope, id), { set: { deletedAt: new Date() } });
  }
}
