import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  Param,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { Schema } from '@nestjs/mongoose';
import type { FastifyRequest } from 'fastify';
import { CrudAction, CrudController, CrudModule, crudOptions } from '../../src/common/crud/index.js';
import { IsIdentifier, IsListOf, IsReference, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { callerOf, claim, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';
import { createResourceApp } from './resource-app.js';

class NameInput {
  @IsText({ max: 100 }) name!: string;
}

class Owned extends NameInput {
  @IsIdentifier() tenant!: string;
}

@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return callerOf(context).claims.role === 'admin';
  }
}

/** Lets administrators and the person of the record itself pass. */
@Injectable()
export class SelfGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { params } = context.switchToHttp().getRequest<FastifyRequest<{ Params: { id?: string } }>>();
    const { claims, subject } = callerOf(context);
    return claims.role === 'admin' || (subject !== undefined && subject === params.id);
  }
}

/** Cannot tell for requests of other routes. */
@Injectable()
class ThrowingGuard implements CanActivate {
  canActivate(): boolean {
    throw new Error('This guard needs more than it has.');
  }
}

export const Roles = Reflector.createDecorator<string[]>();

/** For a whole controller, or a whole application: decides by what the method declares. */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const roles = this.reflector.get(Roles, context.getHandler());
    return !roles || roles.includes(String(callerOf(context).claims.role));
  }
}

const isolationFields = { all: { tenant: currentTenant } };
const forbidden = { errors: [403] };

@Schema({ timestamps: true })
class Dossier extends Owned {}
const dossiers = crudOptions({
  entity: Dossier,
  input: NameInput,
  name: 'dossiers',
  isolationFields,
  routes: { get: { guards: [AdminGuard], ...forbidden } },
});

@Schema({ timestamps: true })
class Page extends Owned {
  @IsReference(() => Dossier) dossier!: string;
}

@Schema({ timestamps: true })
class Ledger extends Owned {}
const ledgers = crudOptions({
  entity: Ledger,
  input: NameInput,
  name: 'ledgers',
  isolationFields,
  routes: { get: { decorators: [Roles(['admin'])], ...forbidden } },
});

@UseGuards(RolesGuard)
class LedgersController extends CrudController(ledgers) {}

@Schema({ timestamps: true })
class Person extends Owned {}

@Schema({ timestamps: true })
class Riddle extends Owned {}

@Schema({ timestamps: true })
class Draft extends Owned {}

@Schema({ timestamps: true })
class Remark extends Owned {
  @IsReference(() => Draft) draft!: string;
}

@Schema({ timestamps: true })
class Sketch extends Owned {}
const sketches = crudOptions({
  entity: Sketch,
  input: NameInput,
  name: 'sketches',
  disable: ['get'],
  isolationFields,
});

/** Shows less than the generated route would. */
class SketchesController extends CrudController(sketches) {
  @CrudAction(sketches, { method: 'GET', path: ':id', isolatedAs: 'get', response: NameInput })
  name(@Param('id') id: string): NameInput {
    return { name: `Sketch ${id}` };
  }
}

/** Read by its owner, written by everybody of the tenant. */
@Schema({ timestamps: true })
class Diary extends Owned {
  @IsText({ max: 100 }) owner!: string;
}

class CaseInput extends NameInput {
  @IsReference(() => Dossier, { optional: true }) dossier?: string;
  @IsReference(() => Ledger, { optional: true }) ledger?: string;
  @IsListOf(IsReference(() => Person), { max: 100, optional: true }) people?: string[];
  @IsReference(() => Riddle, { optional: true }) riddle?: string;
  @IsReference(() => Draft, { optional: true }) draft?: string;
  @IsReference(() => Sketch, { optional: true }) sketch?: string;
}

@Schema({ timestamps: true })
class Case extends CaseInput {
  @IsIdentifier() tenant!: string;
}

/** Starts a service in which cases refer to records that guards protect in every way. */
export const createGuardedApp = () =>
  createResourceApp(
    CrudModule.forFeature(dossiers, { providers: [AdminGuard] }),
    CrudModule.forFeature({
      entity: Page,
      input: NameInput,
      name: 'pages',
      path: 'dossiers/:dossierId/pages',
      parent: { entity: Dossier, param: 'dossierId', field: 'dossier' },
      isolationFields,
    }),
    CrudModule.forFeature(ledgers, { controller: LedgersController }),
    CrudModule.forFeature({
      entity: Person,
      input: NameInput,
      name: 'people',
      isolationFields,
      routes: { get: { guards: [SelfGuard], ...forbidden } },
    }),
    CrudModule.forFeature({
      entity: Riddle,
      input: NameInput,
      name: 'riddles',
      isolationFields,
      routes: { get: { guards: [ThrowingGuard] } },
    }),
    CrudModule.forFeature({
      entity: Draft,
      input: NameInput,
      name: 'drafts',
      disable: ['get'],
      isolationFields,
    }),
    CrudModule.forFeature(sketches, { controller: SketchesController }),
    CrudModule.forFeature({
      entity: Remark,
      input: NameInput,
      name: 'remarks',
      path: 'drafts/:draftId/remarks',
      parent: { entity: Draft, param: 'draftId', field: 'draft' },
      isolationFields,
    }),
    CrudModule.forFeature({
      entity: Diary,
      input: NameInput,
      name: 'diaries',
      isolationFields: {
        create: { tenant: currentTenant, owner: claim('sub') },
        get: { tenant: currentTenant, owner: claim('sub') },
        update: { tenant: currentTenant },
        count: { tenant: currentTenant },
        del: { tenant: currentTenant },
      },
    }),
    CrudModule.forFeature({
      entity: Case,
      input: CaseInput,
      name: 'cases',
      bulk: true,
      import: true,
      isolationFields,
      references: {
        dossier: { to: Dossier },
        ledger: { to: Ledger, check: 'sameScope' },
        people: { to: Person },
        riddle: { to: Riddle },
        draft: { to: Draft },
        sketch: { to: Sketch },
      },
    }),
  );

@Schema({ timestamps: true })
class Topic extends NameInput {}

class NoteInput extends NameInput {
  @IsReference(() => Topic, { optional: true }) topic?: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {}

/** A guard of the whole application, which decides by a header and by what the method declares. */
@Injectable()
class HeaderGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const roles = this.reflector.get(Roles, context.getHandler()) as string[] | undefined;
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    return !roles || roles.includes(String(headers['x-role']));
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: HeaderGuard }] })
class HeaderGuardModule {}

/** Starts a service whose only guard is one of the whole application. */
export const createGloballyGuardedApp = () =>
  createResourceApp(
    HeaderGuardModule,
    CrudModule.forFeature({
      entity: Topic,
      input: NameInput,
      name: 'topics',
      routes: { get: { decorators: [Roles(['admin'])], ...forbidden } },
    }),
    CrudModule.forFeature({
      entity: Note,
      input: NoteInput,
      name: 'notes',
      references: { topic: { to: Topic } },
    }),
  );

class Archivable extends Owned {
  @IsTimestamp({ optional: true }) deletedAt?: Date;
}

@Schema({ timestamps: true })
class Letter extends Archivable {}

@Schema({ timestamps: true })
class Parcel extends Archivable {}

@Schema({ timestamps: true })
class Invoice extends Archivable {}
const invoices = crudOptions({
  entity: Invoice,
  input: NameInput,
  name: 'invoices',
  isolationFields,
  archive: { field: 'deletedAt' },
  routes: { update: forbidden },
});

class InvoicesController extends CrudController(invoices) {
  @UseGuards(AdminGuard)
  override update(scope: TenantScope, id: string, changes: Partial<NameInput>) {
    return super.update(scope, id, changes);
  }
}

@Schema({ timestamps: true })
class Card extends Archivable {}

@Schema({ timestamps: true })
class Stamp extends Archivable {}

const archived = { input: NameInput, isolationFields, archive: { field: 'deletedAt' as const } };
const adminsOnly = { guards: [AdminGuard], ...forbidden };

/** Starts a service of archives whose updates and deletes guards protect in every way. */
export const createGuardedArchives = () =>
  createResourceApp(
    CrudModule.forFeature({
      ...archived,
      entity: Letter,
      name: 'letters',
      routes: { update: adminsOnly, del: adminsOnly },
    }),
    CrudModule.forFeature({ ...archived, entity: Parcel, name: 'parcels', routes: { del: adminsOnly } }),
    CrudModule.forFeature(invoices, { controller: InvoicesController, providers: [AdminGuard] }),
    CrudModule.forFeature({
      ...archived,
      entity: Card,
      name: 'cards',
      routes: { del: adminsOnly, restore: { guards: [] } },
    }),
    CrudModule.forFeature({ ...archived, entity: Stamp, name: 'stamps' }),
  );
