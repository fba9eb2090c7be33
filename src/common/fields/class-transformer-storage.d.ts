/** The storage of class-transformer's decorators; the package declares no types for it. */
declare module 'class-transformer/cjs/storage.js' {
  import type { TypeMetadata } from 'class-transformer';

  export const defaultMetadataStorage: {
    findTypeMetadata(target: object, name: string): TypeMetadata | undefined;
    findTransformMetadatas(
      target: object,
      name: string,
      type: number,
    ): { transformFn(params: object): unknown }[];
  };
}
