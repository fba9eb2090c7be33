export { Product, ProductInput } from './product.js';
export { ProductsModule } from './products.module.js';
