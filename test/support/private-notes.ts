import { Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { CrudService, IsNested, IsText, type TenantScope } from '../../src/index.js';
import { OF_TENANT, resource } from './resource.js';

/** What no answer may hold, wherever it is stored. */
export const HIDDEN = 'known to the house only';
const secret = Prop({ type: String, select: false, default: HIDDEN });

class Box {
  @IsText({ max: 20, optional: true }) label?: string;
  @secret secret?: string;
}

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

/** A resource that is private in every action, with an entity of its own. */
export const privateNotes = (name: string) =>
  resource({
    name,
    class: `Note${name.replaceAll('-', '')}`,
    fields: class extends NoteInput {},
    ...OF_TENANT,
    kept: { ...OF_TENANT.kept, secret, deletedAt: Prop({ type: Date }) },
    archive: { field: 'deletedAt' },
  });

export type Options = ReturnType<typeof privateNotes>;

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
      return (await this.store.findOne(this.filterOf('get', scope, id))) ?? super.get(scope, id);
    }

    async drop(scope: TenantScope, id: string) {
      const removed = await this.resource.writes.remove(scope, this.filterOf('del', scope, id));
      return removed ?? super.del(scope, id);
    }
  }
  return NotesService;
}
