import { Body, Injectable, Module } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import {
  type Changes,
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  patchOf,
  type Stored,
} from '../../src/common/crud/index.js';
import { DuplicateValueError } from '../../src/common/errors/index.js';
import { IsFlag, IsText } from '../../src/common/fields/index.js';
import { claim, CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';

class ProfileInput {
  @IsText({ max: 80, optional: true, example: 'Ada' }) name?: string;
  @IsFlag({ default: false }) newsletter?: boolean;
}

@Schema({ timestamps: true })
class Profile extends ProfileInput {
  @Prop({ unique: true }) @IsText({ max: 200 }) owner!: string;
}

const profile = crudOptions({
  entity: Profile,
  input: ProfileInput,
  name: 'profile',
  tag: 'Profile',
  disable: ['create', 'get', 'count', 'update', 'del'],
  isolationFields: { all: { owner: claim('sub') } },
});

@Injectable()
class ProfileService extends CrudService.for(profile) {
  /** The caller's only record, which is made at first use. */
  async own(scope: TenantScope): Promise<Stored<Profile>> {
    for await (const found of this.list(scope)) return found;
    return this.create(scope, {}).catch((error: unknown) => {
      if (error instanceof DuplicateValueError) return this.own(scope);
      throw error;
    });
  }
}

class ProfileController extends CrudController(profile, ProfileService) {
  @CrudAction(profile, { method: 'GET', isolatedAs: 'get', summary: 'Get your profile' })
  own(@CurrentScope() scope: TenantScope) {
    return this.service.own(scope);
  }

  @CrudAction(profile, { method: 'PATCH', body: patchOf(ProfileInput), isolatedAs: 'update' })
  async change(@CurrentScope() scope: TenantScope, @Body() changes: Changes<ProfileInput>) {
    const { _id } = await this.service.own(scope);
    return this.service.update(scope, _id, changes);
  }
}

@Module({
  imports: [CrudModule.forFeature(profile, { controller: ProfileController, service: ProfileService })],
})
export class ProfileModule {}
