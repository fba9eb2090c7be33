import type { Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import type { CrudOptions, CrudReference } from '../../src/common/crud/index.js';
import { IsListOf, IsReference, IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { claim, routeParam } from '../../src/common/tenancy/index.js';
import { AdminGuard } from './guarded-app.js';
import { createResourceApp } from './resource-app.js';
import { below, type Made, OF_TENANT, type Outline, resource } from './resource.js';
import { ACME, GLOBEX, tokenOf } from './tenants.js';
import type { TestApp } from './test-app.js';

const optional = { optional: true };
const { kept, isolationFields } = OF_TENANT;
const written = { create: isolationFields.all, update: isolationFields.all, del: isolationFields.all };
const name = IsText({ max: 1_000 });
const named = (outline: Outline) => resource({ fields: { name }, ...outline });

/** Of one tenant, and hidden in part. */
const teams = named({
  name: 'teams',
  kept: { ...kept, password: Prop({ type: String, select: false, default: 'secret' }) },
  isolationFields,
});
/** Public unless it is archived, and shown otherwise to its own tenant. */
const articles = named({
  name: 'articles',
  kept: { ...kept, deletedAt: IsTimestamp(optional) },
  isolationFields: written,
  visible: { deletedAt: null },
  output: ({ _id, name, tenant }, caller) => ({ _id, name, mine: caller.tenant === tenant }) as object,
});
/** Of one person. */
const diaries = named({
  name: 'diaries',
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: { owner: claim('sub') } },
});
const sections = named({ name: 'sections', ...OF_TENANT });
/** Everybody's who may read the section that it is below of. */
const leaves = below(sections, {
  name: 'leaves',
  fields: { name },
  kept: { realm: Prop({ type: String }) },
  isolationFields: { all: { realm: claim('realm') } },
  references: { section: { to: sections.entity } },
});
const shops = named({
  name: 'shops',
  path: 'regions/:region/shops',
  kept: { region: Prop({ type: String }) },
  isolationFields: { all: { region: routeParam('region') } },
});

const memos = named({ name: 'memos', routes: { get: { guards: [AdminGuard] } } });
const drafts = named({ name: 'drafts', disable: ['get'] });

class LineInput {
  @IsReference(() => articles.entity, optional) article?: string;
  @IsText({ max: 20 }) note!: string;
}

const single = { team: teams, diary: diaries, leaf: leaves, shop: shops, memo: memos, draft: drafts };
const eachSingle = <T>(make: (to: CrudOptions<Made, Made>) => T) =>
  Object.fromEntries(Object.entries(single).map(([field, to]) => [field, make(to)]));
const article = IsReference(() => articles.entity);
const fields = {
  name,
  ...eachSingle((to) => IsReference(() => to.entity, optional)),
  articles: IsListOf(article, { max: 1_000, ...optional }),
  lines: IsListOf(() => LineInput, { max: 9, ...optional }),
  next: IsReference((): Type<object> => items.entity, optional),
};

/** Fields of referred records that items and tasks can be filtered by. */
export const FILTERS = 'team.name team._id diary.name leaf.name shop.name memo.name draft.name'.split(' ');
const query = { filter: FILTERS };
const items: CrudOptions<Made, Made> = resource({
  name: 'items',
  fields,
  kept: { ...kept, reviewer: Prop({ type: Types.ObjectId, select: false }) },
  query,
  isolationFields: written,
});
/** The same records, read by their tenant. */
const tasks = resource({ name: 'tasks', fields, query, ...OF_TENANT });

// Unchecked, so that the tests can refer to anything.
const unchecked = ({ entity }: CrudOptions<Made, Made>): CrudReference => ({ to: entity, check: false });
const references = {
  ...eachSingle(unchecked),
  articles: unchecked(articles),
  'lines.article': unchecked(articles),
  next: unchecked(items),
};
items.references = { ...references, reviewer: unchecked(teams) };
tasks.references = references;
/** The paths that items and tasks can have expanded, as an error lists them. */
export const PATHS = Object.keys(references).join(', ');

/** Starts a service in which items and tasks refer to records that callers may read, or not, for every reason there is. */
export const createReferringApp = () =>
  createResourceApp(teams, articles, diaries, sections, leaves, shops, memos, drafts, items, tasks);

/** A person of each of two tenants. */
export const ADA = tokenOf(ACME, { sub: 'ada', realm: 'r' });
export const BOB = tokenOf(GLOBEX, { sub: 'bob', realm: 'r' });

/** Creates a record of each resource as one person, and gives the fields that refer to them. */
export async function referredBy(app: TestApp, token: string): Promise<Record<string, string>> {
  const make = (path: string, name = 'T') => app.create(path, { name }, token);
  return {
    team: await make('/teams'),
    diary: await make('/diaries'),
    leaf: await make(`/sections/${await make('/sections', 'S')}/leaves`),
    shop: await make('/regions/north/shops'),
    memo: await make('/memos'),
    draft: await make('/drafts'),
  };
}
