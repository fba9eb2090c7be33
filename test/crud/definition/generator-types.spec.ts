import { Prop, Schema } from '@nestjs/mongoose';
import { expectTypeOf } from 'expect-type';
import { Types } from 'mongoose';
import {
  type Changes,
  claim,
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  currentTenant,
  IsFlag,
  IsNested,
  IsText,
  IsWholeNumber,
  type Page,
  type PageQuery,
  type Presented,
  type ReadOptions,
  type Stored,
  type TenantContext,
  type TenantScope,
} from '../../../src/index.js';

class Size {
  @IsWholeNumber({ min: 0, max: 9 }) width!: number;
}
class Named {
  @IsText({ max: 80 }) name!: string;
  @IsNested(() => Size, { optional: true }) size?: Size;
}
class SignUp extends Named {
  @IsText({ max: 80 }) password!: string;
}
class ProfilePatch extends Named {
  @IsFlag() active!: boolean;
}

@Schema({ timestamps: true })
class User extends Named {
  @IsFlag({ optional: true }) active?: boolean;
  @Prop({ type: Types.ObjectId }) tenant!: Types.ObjectId;
  @Prop({ type: Date }) deletedAt?: Date;
}

const users = crudOptions({
  entity: User,
  input: { create: SignUp, update: ProfilePatch },
  name: 'users',
  writeOnly: ['password'],
  isolationFields: { all: { tenant: currentTenant } },
  visible: { deletedAt: null },
  output: (record, caller) => {
    expectTypeOf(record).toEqualTypeOf<Presented<User>>();
    expectTypeOf(caller).toEqualTypeOf<TenantContext>();
    return record;
  },
  hooks: {
    beforeCreate: ({ input, record, scope, caller, params, action }) => {
      expectTypeOf(input).toEqualTypeOf<Readonly<SignUp>>();
      expectTypeOf(record.name).toEqualTypeOf<string | undefined>();
      expectTypeOf(record.tenant).toEqualTypeOf<string | undefined>();
      expectTypeOf(scope).toEqualTypeOf<TenantScope>();
      expectTypeOf(caller.tenant).toEqualTypeOf<string | undefined>();
      expectTypeOf(params).toEqualTypeOf<Readonly<Record<string, string>>>();
      expectTypeOf(action).toEqualTypeOf<'create'>();
      // @ts-expect-error the body has no such field
      void input.nam;
    },
    afterCreate: ({ record, input }) => {
      expectTypeOf(record).toEqualTypeOf<Presented<User>>();
      expectTypeOf(input).toEqualTypeOf<Readonly<SignUp>>();
    },
    beforeUpdate: ({ changes, record, previous, action }) => {
      expectTypeOf(changes).toEqualTypeOf<Changes<ProfilePatch>>();
      expectTypeOf(record.name).toEqualTypeOf<string>();
      expectTypeOf(previous).toEqualTypeOf<Presented<User>>();
      expectTypeOf(action).toEqualTypeOf<'update' | 'del' | 'restore'>();
      // @ts-expect-error the record that is cannot be told its fields wrongly
      void previous.nmae;
    },
    afterUpdate: ({ previous, changes, record }) => {
      expectTypeOf(previous).toEqualTypeOf<Presented<User>>();
      expectTypeOf(record._id).toEqualTypeOf<string>();
      expectTypeOf(changes.active).toEqualTypeOf<boolean | null | undefined>();
    },
    beforeDel: ({ record }) => expectTypeOf(record).toEqualTypeOf<Presented<User>>(),
    afterDel: ({ record }) => expectTypeOf(record).toEqualTypeOf<Presented<User>>(),
  },
});

class UsersService extends CrudService.for(users) {
  override async create(scope: TenantScope, input: SignUp): Promise<Stored<User>> {
    return super.create(scope, { ...input, name: input.name.trim() });
  }

  promote = () => 'promoted' as const;
}

class UsersController extends CrudController(users, UsersService) {
  override update(scope: TenantScope, id: string, changes: Changes<ProfilePatch>): Promise<Stored<User>> {
    expectTypeOf(this.service).toEqualTypeOf<UsersService>();
    expectTypeOf(this.service.promote()).toEqualTypeOf<'promoted'>();
    // @ts-expect-error the service has no such method
    void this.service.demote;
    return super.update(scope, id, changes);
  }
}

type Service = CrudService<User, SignUp, ProfilePatch>;

describe('types are inferred from the classes', () => {
  it('of the verbs', () => {
    expectTypeOf(CrudService.for(users)).instance.toEqualTypeOf<Service>();
    expectTypeOf<Service['list']>().returns.toExtend<AsyncIterable<Stored<User>>>();
    expectTypeOf<Service['page']>().parameters.toExtend<[TenantScope, PageQuery, ReadOptions?]>();
    expectTypeOf<Service['page']>().returns.toEqualTypeOf<Promise<Page<Stored<User>>>>();
    expectTypeOf<Service['count']>().returns.toEqualTypeOf<Promise<number>>();
    expectTypeOf<Service['get']>().returns.toEqualTypeOf<Promise<Stored<User>>>();
    type CreateArgument = Parameters<Service['create']>[1];
    type UpdateArgument = Parameters<Service['update']>[2];
    expectTypeOf<SignUp>().toExtend<CreateArgument>();
    expectTypeOf<SignUp & { deletedAt: Date }>().toExtend<CreateArgument>();
    expectTypeOf<{ name: string }>().not.toExtend<CreateArgument>();
    expectTypeOf<Changes<ProfilePatch>>().toExtend<UpdateArgument>();
    expectTypeOf<{ deletedAt: Date }>().toExtend<UpdateArgument>();
    expectTypeOf<{ name: number }>().not.toExtend<UpdateArgument>();
    expectTypeOf<Service['del']>().returns.toEqualTypeOf<Promise<Stored<User>>>();
    expectTypeOf<Stored<User>['_id']>().toEqualTypeOf<Types.ObjectId>();
  });

  it('of a merge patch: every field optional, null removes, objects are merged', () => {
    expectTypeOf<{ name: null }>().toExtend<Changes<ProfilePatch>>();
    expectTypeOf<Changes<{ file: Buffer }>['file']>().toEqualTypeOf<Buffer | null | undefined>();
    expectTypeOf<{ size: { width: null } }>().toExtend<Changes<ProfilePatch>>();
    expectTypeOf<Record<never, never>>().toExtend<Changes<ProfilePatch>>();
    expectTypeOf<{ name: number }>().not.toExtend<Changes<ProfilePatch>>();
    expectTypeOf<{ size: { width: string } }>().not.toExtend<Changes<ProfilePatch>>();
  });

  it('of what clients see, whose identifiers are strings, and of a controller and its service', () => {
    expectTypeOf<Presented<User>['tenant']>().toEqualTypeOf<string>();
    expectTypeOf<Presented<User>['deletedAt']>().toEqualTypeOf<Date | undefined>();
    expectTypeOf<UsersController['service']>().toEqualTypeOf<UsersService>();
    expectTypeOf<UsersController['create']>().parameters.toEqualTypeOf<[TenantScope, SignUp]>();
    const overrides = { controller: UsersController, service: UsersService };
    expectTypeOf(CrudModule.forFeature(users, overrides)).toBeObject();
  });
});

it('misspellings do not compile, at every level of the options and in calls of the verbs', () => {
  const base = { entity: User, input: ProfilePatch, name: 'users' } as const;
  const wrong = (service: Service, scope: TenantScope) => [
    // @ts-expect-error no such option
    crudOptions({ ...base, isolationField: {} }),
    // @ts-expect-error no such action
    crudOptions({ ...base, isolationFields: { updat: { tenant: currentTenant } } }),
    // @ts-expect-error no such field
    crudOptions({ ...base, isolationFields: { all: { tenat: currentTenant } } }),
    // @ts-expect-error a source is a function
    crudOptions({ ...base, isolationFields: { all: { tenant: 'tenant' } } }),
    // @ts-expect-error no such field
    crudOptions({ ...base, visible: { deletdAt: null } }),
    // @ts-expect-error no such action
    crudOptions({ ...base, disable: ['delete'] }),
    // @ts-expect-error no such input field
    crudOptions({ ...base, writeOnly: ['pasword'] }),
    // @ts-expect-error no such hook
    crudOptions({ ...base, hooks: { afterUpdat: () => undefined } }),
    // @ts-expect-error no such handler
    crudOptions({ ...base, routes: { delete: {} } }),
    // @ts-expect-error no such member
    crudOptions({ ...base, routes: { del: { guard: [] } } }),
    // @ts-expect-error no such effect
    crudOptions({ ...base, references: { tenant: { to: User, onDelete: 'delete' } } }),
    // @ts-expect-error no such field
    crudOptions({ ...base, path: 'a/:p', parent: { entity: User, param: 'p', field: 'post' } }),
    // @ts-expect-error an update class is missing
    crudOptions({ ...base, input: { create: SignUp } }),
    // @ts-expect-error no such override
    CrudModule.forFeature(users, { controler: UsersController }),
    // @ts-expect-error no such member
    CrudAction(users, { method: 'GET', isolatedAs: 'get', bodi: SignUp }),
    // @ts-expect-error no such action
    CrudAction(users, { method: 'GET', isolatedAs: 'list' }),
    crudOptions({ ...base, isolationFields: { get: { tenant: claim('sub') } } }),
    // @ts-expect-error a required field is missing
    service.create(scope, { name: 'Ann' }),
    // @ts-expect-error no such field
    service.update(scope, '1', { nmae: 'Ann' }),
    // @ts-expect-error a scope is made by scopeOf
    service.count({ tenant: '1' }),
    // @ts-expect-error the scope comes first
    service.get('1'),
    // @ts-expect-error no such option
    service.update(scope, '1', {}, { validat: false }),
  ];
  expect(wrong).toBeInstanceOf(Function);
});
