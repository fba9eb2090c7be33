import { Module } from '@nestjs/common';
import { CrudModule } from '../../src/common/crud/index.js';
import { CategoriesController } from './categories.controller.js';
import { categories } from './categories.crud.js';
import { CategoriesService } from './categories.service.js';

@Module({
  imports: [
    CrudModule.forFeature(categories, { controller: CategoriesController, service: CategoriesService }),
  ],
})
export class CategoriesModule {}
