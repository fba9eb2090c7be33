import { ApiProperty } from '@nestjs/swagger';

/** Answer to the archiving of a post. */
export class ArchivedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  archived!: true;
}
