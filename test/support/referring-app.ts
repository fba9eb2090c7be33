import { Injectable } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, type CrudReference, type Presented } from '../../src/common/crud/index.js';
import { IsIdentifier, IsListOf, IsReference, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { claim, currentTenant, routeParam, type TenantContext } from '../../src/common/tenancy/index.js';
import { createResourceApp } from './resource-app.js';

export class NameInput {
  @IsText({ max: 1_000 }) name!: string;
}

class Owned extends NameInput {
  @IsIdentifier() tenant!: string;
}

/** Of one tenant, and hidden in part. */
@Schema({ timestamps: true })
class Team extends Owned {
  @Prop({ select: false, default: 'secret' }) password?: string;
}

/** Public unless it is archived, and shown otherwise to its own tenant. */
@Schema({ timestamps: true })
class Article extends Owned {
  @IsTimestamp({ optional: true }) deletedAt?: Date;
}

/** Of one person. */
@Schema({ timestamps: true })
class Diary extends NameInput {
  @Prop() owner!: string;
}

@Schema({ timestamps: true })
class Section extends Owned {}

/** Everybody's who may read the section that it is below of. */
@Schema({ timestamps: true })
class Leaf extends NameInput {
  @Prop() realm!: string;
  @IsReference(() => Section) section!: string;
}

@Schema({ timestamps: true })
class Shop extends NameInput {
  @Prop() region!: string;
}

@Schema({ timestamps: true })
class Memo extends NameInput {}

@Schema({ timestamps: true })
class Draft extends NameInput {}

class LineInput {
  @IsReference(() => Article, { optional: true }) article?: string;
  @IsText({ max: 20 }) note!: string;
}

const optional = { optional: true };

class ItemInput extends NameInput {
  @IsReference(() => Team, optional) team?: string;
  @IsListOf(IsReference(() => Article), { max: 1_000, optional: true }) articles?: string[];
  @IsListOf(() => LineInput, { max: 9, optional: true }) lines?: LineInput[];
  @IsReference(() => Diary, optional) diary?: string;
  @IsReference(() => Leaf, optional) leaf?: string;
  @IsReference(() => Shop, optional) shop?: string;
  @IsReference(() => Memo, optional) memo?: string;
  @IsReference(() => Draft, optional) draft?: string;
  @IsReference(() => Item, optional) next?: string;
}

@Schema({ timestamps: true })
class Item extends ItemInput {
  @IsIdentifier() tenant!: string;
  @Prop({ type: Types.ObjectId, select: false }) reviewer?: string;
}

/** The same records, read by their tenant. */
@Schema({ timestamps: true })
class Task extends ItemInput {
  @IsIdentifier() tenant!: string;
}

@Injectable()
class NobodyGuard {
  canActivate(): boolean {
    return false;
  }
}

// Unchecked, so that the tests can refer to anything.
const unchecked = (to: CrudReference['to']): CrudReference => ({ to, check: false });
const references = {
  team: unchecked(Team),
  articles: unchecked(Article),
  'lines.article': unchecked(Article),
  diary: unchecked(Diary),
  leaf: unchecked(Leaf),
  shop: unchecked(Shop),
  memo: unchecked(Memo),
  draft: unchecked(Draft),
  next: unchecked(Item),
};
/** The paths that items and tasks can have expanded, as an error lists them. */
export const PATHS = Object.keys(references).join(', ');
const ofTenant = { tenant: currentTenant };
const written = { create: ofTenant, update: ofTenant, del: ofTenant };

/** Starts a service in which items and tasks refer to records that callers may read, or not, for every reason there is. */
export const createReferringApp = () =>
  createResourceApp(
    CrudModule.forFeature({
      entity: Team,
      input: NameInput,
      name: 'teams',
      isolationFields: { all: ofTenant },
    }),
    CrudModule.forFeature({
      entity: Article,
      input: NameInput,
      name: 'articles',
      isolationFields: written,
      visible: { deletedAt: null },
      output: ({ _id, name, tenant }: Presented<Article>, caller: TenantContext) => ({
        _id,
        name,
        mine: caller.tenant === tenant,
      }),
    }),
    CrudModule.forFeature({
      entity: Diary,
      input: NameInput,
      name: 'diaries',
      isolationFields: { all: { owner: claim('sub') } },
    }),
    CrudModule.forFeature({
      entity: Section,
      input: NameInput,
      name: 'sections',
      isolationFields: { all: ofTenant },
    }),
    CrudModule.forFeature({
      entity: Leaf,
      input: NameInput,
      name: 'leaves',
      path: 'sections/:sectionId/leaves',
      parent: { entity: Section, param: 'sectionId', field: 'section' },
      isolationFields: { all: { realm: claim('realm') } },
      references: { section: { to: Section } },
    }),
    CrudModule.forFeature({
      entity: Shop,
      input: NameInput,
      name: 'shops',
      path: 'regions/:region/shops',
      isolationFields: { all: { region: routeParam('region') } },
    }),
    CrudModule.forFeature({
      entity: Memo,
      input: NameInput,
      name: 'memos',
      routes: { get: { guards: [NobodyGuard] } },
    }),
    CrudModule.forFeature({ entity: Draft, input: NameInput, name: 'drafts', disable: ['get'] }),
    CrudModule.forFeature({
      entity: Item,
      input: ItemInput,
      name: 'items',
      isolationFields: written,
      references: { ...references, reviewer: unchecked(Team) },
    }),
    CrudModule.forFeature({
      entity: Task,
      input: ItemInput,
      name: 'tasks',
      isolationFields: { all: ofTenant },
      references,
    }),
  );
