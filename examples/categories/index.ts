export { CategoriesModule } from './categories.module.js';
export { Category } from './category.js';
