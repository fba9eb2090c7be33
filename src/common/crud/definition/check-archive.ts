import type { Schema, SchemaType } from 'mongoose';
import { type IsolationFields, isOpen } from '../../tenancy/index.js';
import { checkNames } from '../options/check-names.js';
import type { AnyCrudOptions } from '../options/crud-options.js';
import type { Fail } from '../options/fail.js';
import { OPTION_NAMES } from '../options/option-names.js';
import type { ArchiveDefinition } from './archive.js';
import { KEPT } from './check-fields.js';
import type { CrudDefinition } from './crud-definition.js';

/** Input of the archive's checks. */
interface Checked {
  options: AnyCrudOptions;
  schema: Schema;
  isolation: CrudDefinition['isolation'];
  archive: ArchiveDefinition | undefined;
  inputFields: readonly string[];
  fail: Fail;
}

/**
 * Checks the option `archive`: its field, and that isolation decides whose archived records a caller sees.
 */
export function checkArchive({ options, schema, isolation, archive, inputFields, fail }: Checked): void {
  if (!archive) {
    if (options.routes?.restore) fail('routes.restore needs an archive. Add archive: { field }.');
    return;
  }
  checkNames(options.archive, 'archive', OPTION_NAMES.archive, fail);
  const { field } = archive;
  const names = `archive.field names "${String(field)}"`;
  const type = (typeof field === 'string' ? schema.path(field) : undefined) as SchemaType | undefined;
  if (!type) return fail(`${names}, which the schema does not have.`);
  if (KEPT.includes(field)) fail(`${names}, which the service sets itself. Choose another field.`);
  if (type.instance !== 'Date') fail(`${names}, of the schema type ${type.instance}. Choose a date.`);
  const { default: preset, immutable } = type.options as { default?: unknown; immutable?: unknown };
  if (type.isRequired || preset !== undefined || immutable) {
    fail(
      `${names}, which live records could not be without. Make it optional, changeable, without a default.`,
    );
  }
  if (inputFields.includes(field)) fail(`${names}, which clients may send. Remove it from the input class.`);
  if (Object.values(isolation).some((fields) => field in fields))
    fail(`${names}, which isolates records. Choose another field.`);
  if (field in (options.visible ?? {})) fail(`visible names "${field}", as archive does. Remove it there.`);
  const { get, count, update, del } = isolation;
  const twofold = fieldOfTwoSources([get, count, update, del]);
  if (twofold !== undefined) {
    fail(
      `archive cannot tell whose archived records are, since "${twofold}" has several sources in get, count, update and del. Give it one.`,
    );
  }
  if (isOpen(archive.isolation.get) || isOpen(archive.isolation.count)) {
    fail(
      'archive needs to know whose archived records are. Add isolationFields.update and isolationFields.del, such as { tenant: currentTenant }.',
    );
  }
}

function fieldOfTwoSources(actions: readonly IsolationFields[]): string | undefined {
  const sources = new Map<string, unknown>();
  for (const [field, source] of actions.flatMap((fields) => Object.entries(fields))) {
    if (sources.has(field) && sources.get(field) !== source) return field;
    sources.set(field, source);
  }
  return undefined;
}
