import {
  type CanActivate,
  type Type,
  type ExecutionContext,
  Injectable,
  Module,
  Param,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { CrudAction, CrudController, CrudModule } from '../../src/common/crud/index.js';
import { IsIdentifier, IsListOf, IsReference, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { callerOf, claim, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';
import { createResourceApp } from './resource-app.js';
import { resource, feature, type Made, type Outline } from './resource.js';

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

const forbidden = { errors: [403] };
const adminsOnly = { guards: [AdminGuard], ...forbidden };
const adminsByRole = { decorators: [Roles(['admin'])], ...forbidden };
const name = IsText({ max: 100 });

/** A resource of named records that belong to a tenant. */
const owned = ({ kept, ...outline }: Outline) =>
  resource({
    fields: { name },
    kept: { tenant: IsIdentifier(), ...kept },
    isolationFields: { all: { tenant: currentTenant } },
    ...outline,
  });

const dossiers = owned({ name: 'dossiers', routes: { get: adminsOnly } });
const ledgers = owned({ name: 'ledgers', routes: { get: adminsByRole } });
const people = owned({
  name: 'people',
  class: 'Person',
  routes: { get: { guards: [SelfGuard], ...forbidden } },
});
const riddles = owned({ name: 'riddles', routes: { get: { guards: [ThrowingGuard] } } });
const drafts = owned({ name: 'drafts', disable: ['get'] });
const sketches = owned({ name: 'sketches', class: 'Sketch', disable: ['get'] });

@UseGuards(RolesGuard)
class LedgersController extends CrudController(ledgers) {}

class SketchName {
  @IsText({ max: 100 }) name!: string;
}

/** Shows less than the generated route would. */
class SketchesController extends CrudController(sketches) {
  @CrudAction(sketches, { method: 'GET', path: ':id', isolatedAs: 'get', response: SketchName })
  name(@Param('id') id: string): SketchName {
    return { name: `Sketch ${id}` };
  }
}

const tenant = { tenant: currentTenant };
/** Read by its owner, written by everybody of the tenant. */
const diaries = owned({
  name: 'diaries',
  kept: { owner: IsText({ max: 100 }) },
  isolationFields: {
    create: { ...tenant, owner: claim('sub') },
    get: { ...tenant, owner: claim('sub') },
    update: tenant,
    count: tenant,
    del: tenant,
  },
});
const referred = (to: { entity: Type<object> }) => IsReference(() => to.entity, { optional: true });
const cases = owned({
  name: 'cases',
  fields: {
    name,
    dossier: referred(dossiers),
    ledger: referred(ledgers),
    people: IsListOf(
      IsReference(() => people.entity),
      { max: 100, optional: true },
    ),
    riddle: referred(riddles),
    draft: referred(drafts),
    sketch: referred(sketches),
  },
  bulk: true,
  import: true,
  references: {
    dossier: { to: dossiers.entity },
    ledger: { to: ledgers.entity, check: 'sameScope' },
    people: { to: people.entity },
    riddle: { to: riddles.entity },
    draft: { to: drafts.entity },
    sketch: { to: sketches.entity },
  },
});

/** Starts a service in which cases refer to records that guards protect in every way. */
export const createGuardedApp = () =>
  createResourceApp(
    CrudModule.forFeature(dossiers, { providers: [AdminGuard] }),
    CrudModule.forFeature(ledgers, { controller: LedgersController }),
    CrudModule.forFeature(sketches, { controller: SketchesController }),
    ...[
      people,
      riddles,
      drafts,
      diaries,
      cases,
      owned({
        name: 'pages',
        path: 'dossiers/:dossierId/pages',
        parent: { entity: dossiers.entity, param: 'dossierId', field: 'dossier' },
        kept: { dossier: IsReference(() => dossiers.entity) },
      }),
      owned({
        name: 'remarks',
        path: 'drafts/:draftId/remarks',
        parent: { entity: drafts.entity, param: 'draftId', field: 'draft' },
        kept: { draft: IsReference(() => drafts.entity) },
      }),
    ].map((options) => CrudModule.forFeature(options)),
  );

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

const topics = resource({ name: 'topics', fields: { name }, routes: { get: adminsByRole } });

/** Starts a service whose only guard is one of the whole application. */
export const createGloballyGuardedApp = () =>
  createResourceApp(
    HeaderGuardModule,
    CrudModule.forFeature(topics),
    feature({
      name: 'notes',
      fields: { name, topic: referred(topics) },
      references: { topic: { to: topics.entity } },
    }),
  );

const archive = (outline: Outline) =>
  owned({
    kept: { deletedAt: IsTimestamp({ optional: true }) },
    archive: { field: 'deletedAt' },
    ...outline,
  });
const invoices = archive({ name: 'invoices', routes: { update: forbidden } });

class InvoicesController extends CrudController(invoices) {
  @UseGuards(AdminGuard)
  override update(scope: TenantScope, id: string, changes: Made) {
    return super.update(scope, id, changes);
  }
}

/** Starts a service of archives whose updates and deletes guards protect in every way. */
export const createGuardedArchives = () =>
  createResourceApp(
    CrudModule.forFeature(invoices, { controller: InvoicesController, providers: [AdminGuard] }),
    ...[
      archive({ name: 'letters', routes: { update: adminsOnly, del: adminsOnly } }),
      archive({ name: 'parcels', routes: { del: adminsOnly } }),
      archive({ name: 'cards', routes: { del: adminsOnly, restore: { guards: [] } } }),
      archive({ name: 'stamps' }),
    ].map((options) => CrudModule.forFeature(options)),
  );
