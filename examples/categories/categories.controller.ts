import { Body, Param } from '@nestjs/common';
import { CrudAction, CrudController } from '../../src/common/crud/index.js';
import { IsReference } from '../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';
import { categories } from './categories.crud.js';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.js';

export class MoveCategory {
  @IsReference(() => Category, { optional: true, description: 'The new category above; none for the root' })
  parent?: string;
}

export class CategoriesController extends CrudController(categories, CategoriesService) {
  @CrudAction(categories, {
    method: 'POST',
    path: ':id/move',
    body: MoveCategory,
    isolatedAs: 'update',
    status: 200,
    summary: 'Move a category below another one',
    errors: ['RECORD_NOT_FOUND', 409],
  })
  move(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() { parent }: MoveCategory) {
    return this.service.move(scope, id, parent?.toLowerCase());
  }
}
