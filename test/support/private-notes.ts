import { Injectable, type Type } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { crudOptions, type CrudOptions, CrudService } from '../../src/common/crud/index.js';
import { IsNested, IsText } from '../../src/common/fields/index.js';
import { currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';

/** What no answer may hold, wherever it is stored. */
export const HIDDEN = 'known to the house only';

class Box {
  @IsText({ max: 20, optional: true }) label?: string;
  @Prop({ type: String, select: false, default: HIDDEN }) secret?: string;
}

/** The body of a create. */
export class NoteInput {
  @IsText({ max: 80 }) text!: string;
  @IsNested(() => Box, { optional: true }) box?: Box;
}

/** The body of an own route that updates. */
export class NotePatch {
  @IsText({ max: 80, optional: true }) text?: string;
}

/** One answer of own routes with another class than the entity. */
export class Wrapped {
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) data?: object;
}

/** Options of a resource of the matrix. */
export type Options = CrudOptions<NoteBase, NoteInput>;

@Schema({ timestamps: true })
class NoteBase extends NoteInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
  @Prop({ type: String, select: false, default: HIDDEN }) secret?: string;
  @Prop({ type: Date }) deletedAt?: Date;
}

/** A resource that is private in every action, with an entity of its own. */
export function privateNotes(name: string): Options {
  @Schema({ timestamps: true })
  class Note extends NoteBase {}
  Object.defineProperty(Note, 'name', { value: `Note${name.replaceAll('-', '')}` });
  return crudOptions({
    entity: Note as Type<NoteBase>,
    input: NoteInput,
    name,
    isolationFields: { all: { tenant: currentTenant } },
    archive: { field: 'deletedAt' },
  });
}

/** A service whose own methods filter as the verbs do. */
export function serviceOf(options: Options) {
  @Injectable()
  class NotesService extends CrudService.for(options) {
    reach(scope: TenantScope) {
      return this.store.find(this.filterOf('get', scope));
    }

    reachCount(scope: TenantScope) {
      return this.store.count(this.filterOf('count', scope));
    }

    async reachOne(scope: TenantScope, id: string) {
      const { store } = this;
      return (await store.findOne(this.filterOf('get', scope, id))) ?? super.get(scope, id);
    }

    async drop(scope: TenantScope, id: string) {
      return (
        (await this.resource.writes.remove(scope, this.filterOf('del', scope, id))) ?? super.del(scope, id)
      );
    }
  }
  return NotesService;
}
