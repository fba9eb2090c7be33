import { IsIdentifier, IsText } from '../../src/common/fields/index.js';

export class FileInput {
  @IsText({ max: 100 }) name!: string;
}

/** A file of a tenant. */
export class OwnedFile extends FileInput {
  @IsIdentifier() tenant!: string;
}
