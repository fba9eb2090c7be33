import { ConflictException, Injectable } from '@nestjs/common';
import { type Changes, CrudService } from '../../src/common/crud/index.js';
import type { TenantScope } from '../../src/common/tenancy/index.js';
import { categories } from './categories.crud.js';
import type { CategoryInput, CategoryName } from './category.js';

/** The generated verbs, with a slug that follows the name, and the move. */
@Injectable()
export class CategoriesService extends CrudService.for(categories) {
  override create(scope: TenantScope, input: CategoryInput) {
    return super.create(scope, { ...input, slug: slugOf(input.name) });
  }

  override update(scope: TenantScope, id: string, changes: Changes<CategoryName>) {
    const { name } = changes;
    return super.update(scope, id, typeof name === 'string' ? { ...changes, slug: slugOf(name) } : changes);
  }

  /**
   * Moves a category below another one, or to the root. Two concurrent moves may still create a circle; preventing that
   * would need a lock on the tree.
   *
   * @throws ConflictException if the new parent is the category itself or below it
   */
  async move(scope: TenantScope, id: string, parent: string | undefined) {
    const { name } = await this.get(scope, id);
    for (let at = parent; at !== undefined; at = (await this.parentOf(scope, at))?.toString()) {
      if (at === id) throw new ConflictException(`"${name}" cannot be moved below itself.`);
    }
    return super.update(scope, id, { parent: parent ?? null });
  }

  /** A parent that does not exist ends the walk up; the reference check then rejects it. */
  private async parentOf(scope: TenantScope, id: string) {
    return (await this.store.findOne(this.filterOf('get', scope, id)))?.parent;
  }
}

/** "Crème & Söhne" as "creme-sohne". */
function slugOf(name: string): string {
  const letters = name
    .normalize('NFKD')
    .replaceAll(/\p{Mark}/gu, '')
    .toLowerCase();
  return letters.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '') || '-';
}
