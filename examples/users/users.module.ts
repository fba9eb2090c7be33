import { Module } from '@nestjs/common';
import { CrudModule } from '../../src/common/crud/index.js';
import { schemaOf } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';
import { Roles, RolesGuard, type Who } from './roles.guard.js';
import { ProfilePatch, SignUp, User, UserView } from './user.js';
import { UserHooks } from './user.hooks.js';

/** Lets only these use a route. */
const only = (...roles: Who[]) => ({
  guards: [RolesGuard],
  decorators: [Roles(roles)],
  errors: [403],
});

@Module({
  imports: [
    CrudModule.forFeature({
      entity: User,
      input: { create: SignUp, update: ProfilePatch },
      output: UserView,
      name: 'users',
      tag: 'Users',
      schema: schemaOf(User).index({ tenant: 1, email: 1 }, { unique: true }),
      query: { filter: ['email', 'name', 'role'], sort: ['name'] },
      writeOnly: ['password'],
      hooks: UserHooks,
      isolationFields: { all: { tenant: currentTenant } },
      routes: { create: only('admin'), update: only('admin', 'self'), del: only('admin') },
    }),
  ],
})
export class UsersModule {}
