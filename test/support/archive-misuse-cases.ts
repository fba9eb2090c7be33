import { claim, currentTenant, routeParam, schemaOf } from '../../src/index.js';
import { Ending, Note, type MisuseCases } from './misused-classes.js';

const tenant = { tenant: currentTenant };
const archive = (field: string, change: object = {}) => ({
  isolationFields: { all: tenant },
  archive: { field },
  ...change,
});
const due = (options: object) => ({ schema: schemaOf(Note).add({ due: { type: Date, ...options } }) });
const ended = (isolationFields: object) => archive('deletedAt', { isolationFields });

/** Archives that are wrong. */
export const ARCHIVE_CASES: MisuseCases = {
  'archive must be an object. It takes field.': [{ archive: null }, { archive: 'deletedAt' }],
  'archive has no "fild". Did you mean "field"?': { archive: { fild: 'deletedAt' } },
  'archive.field names "undefined", which the schema does not have.': { archive: {} },
  'archive.field names "deletdAt", which the schema does not have.': archive('deletdAt'),
  'archive.field names "createdAt", which the service sets itself. Choose another field.':
    archive('createdAt'),
  'archive.field names "text", of the schema type String. Choose a date.': archive('text'),
  'archive.field names "due", which live records could not be without. Make it optional, changeable, without a default.':
    [archive('due', due({ required: true })), archive('due', due({ default: Date.now }))],
  'archive.field names "deletedAt", which clients may send. Remove it from the input class.': archive(
    'deletedAt',
    { input: Ending },
  ),
  'visible names "deletedAt", as archive does. Remove it there.': archive('deletedAt', {
    visible: { deletedAt: null },
  }),
  'archive needs to know whose archived records are. Add isolationFields.update and isolationFields.del, such as { tenant: currentTenant }.':
    [ended({ create: tenant }), ended({ update: { tenant: routeParam('tenant') } })],
  'archive.field names "deletedAt", which isolates records. Choose another field.': ended({
    create: { deletedAt: currentTenant },
  }),
  'archive cannot tell whose archived records are, since "tenant" has several sources in get, count, update and del. Give it one.':
    ended({ update: tenant, del: { tenant: claim('sub') } }),
  'routes.restore needs an archive. Add archive: { field }.': { routes: { restore: {} } },
  'routes.restore changes a route that disable leaves out. Remove one of them.': archive('deletedAt', {
    disable: ['update'],
    routes: { restore: {} },
  }),
};
