/** The package declares the types of this file under another path. */
declare module 'class-transformer/cjs/storage.js' {
  export * from 'class-transformer/types/storage.js';
}
