import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  Module,
  Param,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { CrudAction, CrudController, CrudModule } from '../../src/common/crud/index.js';
import { IsListOf, IsReference, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { callerOf, claim, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';
import { createResourceApp } from './resource-app.js';
import { below, feature, type Made, OF_TENANT, type Outline, resource } from './resource.js';

const roleOf = (context: ExecutionContext) => String(callerOf(context).claims.role);

/** A guard class of its own, which decides by a function. */
export function guardBy(canActivate: (context: ExecutionContext) => boolean): Type<CanActivate> {
  @Injectable()
  class Guard implements CanActivate {
    canActivate = canActivate;
  }
  return Guard;
}

export const AdminGuard = guardBy((context) => roleOf(context) === 'admin');

/** Lets administrators and the person of the record itself pass. */
export const SelfGuard = guardBy((context) => {
  const { params } = context.switchToHttp().getRequest<FastifyRequest<{ Params: { id?: string } }>>();
  const { subject } = callerOf(context);
  return roleOf(context) === 'admin' || (subject !== undefined && subject === params.id);
});

/** Cannot tell for requests of other routes. */
const ThrowingGuard = guardBy(() => {
  throw new Error('This guard needs more than it has.');
});

export const Roles = Reflector.createDecorator<string[]>();

/** For a whole controller, or a whole application: decides by what the method declares. */
@Injectable()
export class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const roles = this.reflector.get(Roles, context.getHandler()) as string[] | undefined;
    return !roles || roles.includes(this.roleOf(context));
  }

  protected roleOf = roleOf;
}

export const forbidden = { errors: [403] };
export const adminsOnly = { guards: [AdminGuard], ...forbidden };
export const adminsByRole = { decorators: [Roles(['admin'])], ...forbidden };
export const selfOnly = { guards: [SelfGuard], ...forbidden };
const name = IsText({ max: 100 });

/** A resource of named records that belong to a tenant. */
export const owned = ({ kept, ...outline }: Outline) =>
  resource({ fields: { name }, ...OF_TENANT, kept: { ...OF_TENANT.kept, ...kept }, ...outline });

const dossiers = owned({ name: 'dossiers', routes: { get: adminsOnly } });
const ledgers = owned({ name: 'ledgers', routes: { get: adminsByRole } });
const people = owned({ name: 'people', class: 'Person', routes: { get: selfOnly } });
const riddles = owned({ name: 'riddles', routes: { get: { guards: [ThrowingGuard] } } });
const drafts = owned({ name: 'drafts', disable: ['get'] });
const sketches = owned({ name: 'sketches', class: 'Sketch', disable: ['get'] });

@UseGuards(RolesGuard)
class LedgersController extends CrudController(ledgers) {}

/** Shows less than the generated route would. */
class SketchesController extends CrudController(sketches) {
  @CrudAction(sketches, { method: 'GET', path: ':id', isolatedAs: 'get', response: sketches.input as Type })
  name(@Param('id') id: string) {
    return { name: `Sketch ${id}` };
  }
}

const tenant = { tenant: currentTenant };
const personal = { ...tenant, owner: claim('sub') };
/** Read by its owner, written by everybody of the tenant. */
const diaries = owned({
  name: 'diaries',
  kept: { owner: name },
  isolationFields: { create: personal, get: personal, update: tenant, count: tenant, del: tenant },
});

const referred = (to: typeof dossiers) => IsReference(() => to.entity, { optional: true });
const person = IsReference(() => people.entity);
const cases = owned({
  name: 'cases',
  fields: {
    name,
    dossier: referred(dossiers),
    ledger: referred(ledgers),
    people: IsListOf(person, { max: 100, optional: true }),
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
const deletedAt = IsTimestamp({ optional: true });
const archive = (outline: Outline) =>
  owned({ kept: { deletedAt }, archive: { field: 'deletedAt' }, ...outline });
const invoices = archive({ name: 'invoices', routes: { update: forbidden } });

class InvoicesController extends CrudController(invoices) {
  @UseGuards(AdminGuard)
  override update(scope: TenantScope, id: string, changes: Made) {
    return super.update(scope, id, changes);
  }
}

const plain = [people, riddles, drafts, diaries, cases];
/** Starts a service in which cases refer to guarded records, and with archives whose updates and deletes are guarded. */
export const createGuardedApp = () =>
  createResourceApp(
    CrudModule.forFeature(dossiers, { providers: [AdminGuard] }),
    CrudModule.forFeature(ledgers, { controller: LedgersController }),
    CrudModule.forFeature(sketches, { controller: SketchesController }),
    CrudModule.forFeature(invoices, { controller: InvoicesController, providers: [AdminGuard] }),
    ...plain,
    below(dossiers, { name: 'pages', ...OF_TENANT, fields: { name } }),
    below(drafts, { name: 'remarks', ...OF_TENANT, fields: { name } }),
    archive({ name: 'letters', routes: { update: adminsOnly, del: adminsOnly } }),
    archive({ name: 'parcels', routes: { del: adminsOnly } }),
    archive({ name: 'cards', routes: { del: adminsOnly, restore: { guards: [] } } }),
  );

/** Looks for the role in a header. */
@Injectable()
class HeaderGuard extends RolesGuard {
  protected override roleOf = (context: ExecutionContext) =>
    String(context.switchToHttp().getRequest<FastifyRequest>().headers['x-role']);
}

@Module({ providers: [{ provide: APP_GUARD, useClass: HeaderGuard }] })
class HeaderGuardModule {}

const topics = resource({ name: 'topics', fields: { name }, routes: { get: adminsByRole } });

/** Starts a service whose only guard is one of the whole application. */
export const createGloballyGuardedApp = () =>
  createResourceApp(
    HeaderGuardModule,
    topics,
    feature({
      name: 'notes',
      fields: { name, topic: referred(topics) },
      references: { topic: { to: topics.entity } },
    }),
  );
