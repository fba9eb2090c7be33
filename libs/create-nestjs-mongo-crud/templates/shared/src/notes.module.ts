import { Module } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { CrudModule, currentTenant, IsIdentifier, IsText } from 'nestjs-mongo-crud';

class NoteInput {
  @IsText({ min: 1, max: 500, example: 'Buy stamps' }) text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {
  @IsIdentifier() tenant!: string;
}

const isolationFields = { all: { tenant: currentTenant } };
@Module({
  imports: [
    CrudModule.forFeature({
      entity: Note,
      input: NoteInput,
      name: 'notes',
      tag: 'Notes',
      isolationFields,
    }),
  ],
})
export class NotesModule {}
