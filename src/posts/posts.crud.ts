import { crudOptions } from '../common/crud/index.js';
import { currentTenant } from '../common/tenancy/index.js';
import { PostInput } from './dto/post-input.js';
import { Post } from './post.schema.js';

/** Posts: public reads, writes within the tenant, and an archive instead of deletion. */
export const postsCrud = crudOptions({
  entity: Post,
  input: PostInput,
  name: 'posts',
  path: 'posts/api',
  tag: 'CMS',
  disable: ['del'],
  isolationFields: {
    create: { tenant: currentTenant },
    update: { tenant: currentTenant },
    del: { tenant: currentTenant },
  },
  archive: { field: 'deletedAt' },
  events: true,
  query: {
    filter: ['_id', 'title', 'tags', 'tenant', 'createdAt', 'updatedAt', 'deletedAt'],
    sort: ['-createdAt', '-updatedAt', 'title', '-deletedAt'],
    search: ['title', 'content', 'tags'],
  },
});
