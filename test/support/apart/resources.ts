import type { DynamicModule, Type } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { type Schema as MongooseSchema } from 'mongoose';
import { CrudModule, type Presented } from '../../../src/common/crud/index.js';
import {
  IsIdentifier,
  IsNested,
  IsReference,
  IsText,
  IsTextList,
  IsTimestamp,
  IsWholeNumber,
  schemaOf,
} from '../../../src/common/fields/index.js';
import { claim, currentTenant, type TenantContext } from '../../../src/common/tenancy/index.js';
import { PostsModule } from '../../../src/posts/posts.module.js';
import { TodosModule } from '../../../src/todos/todos.module.js';
import { createResourceApp } from '../resource-app.js';
import type { TestApp } from '../test-app.js';

class KeeperInput {
  @IsText({ min: 1, max: 200 }) name!: string;
  @IsWholeNumber({ min: 0, max: 9, optional: true }) level?: number;
}

/** Of one tenant, hidden in part; vaults and cards refer to it. */
@Schema({ timestamps: true })
class Keeper extends KeeperInput {
  @IsIdentifier() tenant!: string;
  @Prop({ type: String, select: false }) secret?: string;
}

class Box {
  @IsText({ max: 40, optional: true }) label?: string;
  @Prop({ type: String, select: false }) secret?: string;
}

class VaultInput {
  @IsText({ min: 1, max: 200 }) name!: string;
  @IsTextList({ maxEntries: 5, entry: { max: 40 }, optional: true }) tags?: string[];
  @IsWholeNumber({ min: 0, max: 9, optional: true }) level?: number;
  @IsTimestamp({ optional: true }) dueAt?: Date;
  @IsNested(() => Box, { optional: true }) box?: Box;
  @IsReference(() => Keeper, { optional: true }) keeper?: string;
  @IsText({ min: 1, max: 40, optional: true }) code?: string;
}

/** Of one tenant, with an archive, cards below it, a value unique in its tenant, and every kind of write. */
@Schema({ timestamps: true })
class Vault extends VaultInput {
  @IsIdentifier() tenant!: string;
  @Prop({ type: Date }) closedAt?: Date;
  @Prop({ type: String, select: false }) secret?: string;
}

class CardInput {
  @IsText({ min: 1, max: 200 }) name!: string;
  @IsReference(() => Keeper, { optional: true }) keeper?: string;
}

/** What clients see of a card. */
class CardView extends CardInput {
  @IsReference(() => Vault) vault!: string;
}

/** Below a vault, shown in part by a class. */
@Schema({ timestamps: true })
class Card extends CardInput {
  @IsIdentifier() tenant!: string;
  @IsReference(() => Vault) vault!: string;
  @Prop({ type: String }) secret?: string;
}

class DiaryInput {
  @IsText({ min: 1, max: 200 }) name!: string;
}

/** Of one person of a tenant. */
@Schema({ timestamps: true })
class Diary extends DiaryInput {
  @IsIdentifier() tenant!: string;
  @Prop() owner!: string;
}

class NoticeInput {
  @IsText({ min: 1, max: 200 }) name!: string;
  @IsReference(() => Vault, { optional: true }) vault?: string;
  @IsReference(() => Diary, { optional: true }) diary?: string;
}

/** Everybody's to read unless it is withdrawn, and each tenant's to write. */
@Schema({ timestamps: true })
class Notice extends NoticeInput {
  @IsIdentifier() tenant!: string;
  @Prop({ type: Boolean }) withdrawn?: boolean;

  /** Shown to its own tenant only. */
  @Prop({ type: Number }) fee?: number;
  @Prop({ type: String, select: false }) secret?: string;
}

/** The schema of an entity in which no two records of a tenant share a value. */
function uniqueInTenant(entity: Type<object>, field: string): MongooseSchema {
  const partialFilterExpression = { [field]: { $exists: true } };
  return schemaOf(entity).index({ tenant: 1, [field]: 1 }, { unique: true, partialFilterExpression });
}

const ofTenant = { tenant: currentTenant };

/** Resources that show each caller something else: private, by person, below a parent, in part, by an output. */
const resources = (): DynamicModule[] => [
  CrudModule.forFeature({
    entity: Keeper,
    input: KeeperInput,
    name: 'keepers',
    isolationFields: { all: ofTenant },
    query: { filter: ['_id', 'name', 'level', 'tenant'], sort: ['name', 'level'], search: ['name'] },
    bulk: true,
  }),
  CrudModule.forFeature({
    entity: Vault,
    input: VaultInput,
    name: 'vaults',
    isolationFields: { all: ofTenant },
    schema: uniqueInTenant(Vault, 'code'),
    archive: { field: 'closedAt' },
    references: { keeper: { to: Keeper } },
    query: {
      filter: ['_id', 'name', 'tags', 'level', 'dueAt', 'box.label', 'keeper', 'tenant', 'closedAt'],
      sort: ['name', ['level', '-dueAt'], '-closedAt'],
      search: ['name', 'tags', 'box.label'],
    },
    bulk: true,
    import: true,
  }),
  CrudModule.forFeature({
    entity: Card,
    input: CardInput,
    name: 'cards',
    path: 'vaults/:vaultId/cards',
    parent: { entity: Vault, param: 'vaultId', field: 'vault' },
    isolationFields: { all: ofTenant },
    output: CardView,
    references: { keeper: { to: Keeper }, vault: { to: Vault } },
    query: { filter: ['_id', 'name', 'keeper'], sort: ['name'], search: ['name'] },
    bulk: true,
    import: true,
  }),
  CrudModule.forFeature({
    entity: Diary,
    input: DiaryInput,
    name: 'diaries',
    isolationFields: { all: { ...ofTenant, owner: claim('sub') } },
    query: { filter: ['_id', 'name', 'owner', 'tenant'], sort: ['name'], search: ['name'] },
    import: true,
  }),
  CrudModule.forFeature({
    entity: Notice,
    input: NoticeInput,
    name: 'notices',
    isolationFields: { create: ofTenant, update: ofTenant, del: ofTenant },
    visible: { withdrawn: null },
    output: {
      from: ({ _id, name, tenant, vault, diary, fee }: Presented<Notice>, caller: TenantContext) => {
        const mine = caller.tenant === tenant;
        return { _id, name, vault, diary, mine, ...(mine && { fee }) };
      },
      hides: ['tenant', 'withdrawn', 'fee'],
    },
    references: { vault: { to: Vault }, diary: { to: Diary } },
    query: { filter: ['_id', 'name', 'vault'], sort: ['name', '-updatedAt'], search: ['name'] },
    bulk: true,
  }),
];

/** Starts a service with posts, todos, the resources above, and more. */
export const createPrivateApp = (...more: DynamicModule[]): Promise<TestApp> =>
  createResourceApp(PostsModule, TodosModule.forRoot({ form: 'generated' }), ...resources(), ...more);
