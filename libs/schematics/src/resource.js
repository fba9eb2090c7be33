import { format, resolveConfig } from 'prettier';
import { readFields } from './fields.js';
import { namesOf, singularOf } from './names.js';

/**
 * The resources that the fields of a new one can refer to: the folder of each, by its name.
 *
 * @param appModule text of `app.module.ts`, which lists them
 * @param exists whether there is a file
 */
export function resourcesOf(appModule, exists) {
  const modules = appModule.matchAll(/^import .* from '\.\/([\w-]+)\/([\w-]+[^s]s)\.module\.js';$/gm);
  return new Map(
    [...modules]
      .map(([, folder, name]) => [name, folder])
      .filter(([name, folder]) => exists(`src/${folder}/${singularOf(name)}.schema.ts`)),
  );
}

/**
 * A new resource: its files, formatted, as pairs of path and content, `app.module.ts` with its module, and a notice if
 * it is public. It is in a folder of its own, or in that of the resources that it refers to, since features do not import
 * each other.
 *
 * @param plural name of the resource, such as `comments`
 * @param fieldTexts fields, such as `title:text!`
 * @param options `tenant`: whether each tenant has records of its own; `events`: whether subscribers of the tenant are
 * told of each write, which takes tenants; `public`: whether everybody reads and writes the records, the default;
 * `appModule`: text of `app.module.ts`; `exists`: whether there is a file
 * @throws Error with a sentence if the name or a field is invalid
 */
export async function newResource(
  plural,
  fieldTexts,
  { events = false, tenant: isOfTenants = false, public: isPublic, appModule, exists },
) {
  const tenant = isOfTenants || events;
  if (isPublic && tenant) throw new Error('--public excludes --tenant and --events.');
  const names = newNamesOf(plural, appModule);
  const contents = contentsOf(plural, fieldTexts, resourcesOf(appModule, exists));
  const resource = { ...names, ...contents, events, tenant };
  const { folder, singular } = resource;
  const files = {
    [`src/${folder}/dto/${singular}-input.ts`]: inputFile(resource),
    [`src/${folder}/${singular}.schema.ts`]: entityFile(resource),
    [`src/${folder}/${plural}.module.ts`]: moduleFile(resource),
    [`test/${plural}.e2e-spec.ts`]: testFile(resource),
  };
  const formatted = Object.entries(files).map(async ([path, content]) => [
    path,
    await format(content, { ...(await resolveConfig(path)), filepath: path }),
  ]);
  const notice = tenant
    ? undefined
    : 'Everybody reads and writes these records. With --tenant, each tenant has records of its own.';
  return { files: await Promise.all(formatted), appModule: register(appModule, resource), notice };
}

/** The names of a resource that is not there yet. */
export function newNamesOf(plural, appModule) {
  const names = namesOf(plural);
  if (appModule.includes(`import { ${names.Plural}Module }`))
    throw new Error(`src/app.module.ts has ${names.Plural}Module already.`);
  return names;
}

/**
 * The fields of a resource, their references to others, and its folder.
 *
 * @param resources those that it can refer to, as {@link resourcesOf} gives them
 */
export function contentsOf(plural, fieldTexts, resources) {
  const fields = readFields(fieldTexts, namesOf(plural).Singular, [...resources.keys()]);
  const references = fields.flatMap((field) => field.references);
  const [folder = plural, ...others] = new Set(references.map(([, resource]) => resources.get(resource)));
  if (others.length > 0)
    throw new Error(
      `Resources that refer to each other share a folder: it cannot be in src/${folder} and in src/${others[0]}.`,
    );
  return { fields, references, folder };
}

function register(appModule, { Plural, plural, folder }) {
  const line = `import { ${Plural}Module } from './${folder}/${plural}.module.js';`;
  const lines = appModule.split('\n');
  const lastImport = lines.findLastIndex((text) => /^import .* from '\.\/[^']*\.module\.js';$/.test(text));
  // That of the features, which a worker has as well.
  const lastModule = lines.findLastIndex((text) => /^\s+\{ module: \w+Module \},$/.test(text));
  if (lastImport === -1 || lastModule === -1)
    throw new Error(
      `src/app.module.ts has no list of modules that is known. Add ${Plural}Module to its imports.`,
    );
  lines.splice(lastModule + 1, 0, lines[lastModule].replace(/\w+Module/, `${Plural}Module`));
  lines.splice(lastImport + 1, 0, line);
  return lines.join('\n');
}

/** Imports of the entities that fields refer to. */
function entityImports(references, path) {
  const resources = [...new Set(references.map(([, resource]) => resource))].map(namesOf);
  return resources
    .map(({ Singular, singular }) => `import { ${Singular} } from '${path}/${singular}.schema.js';\n`)
    .join('');
}

function inputFile({ Singular, title, fields, references }) {
  const decorators = [...new Set(fields.flatMap((field) => field.decorators))].sort();
  return `import { ${decorators.join(', ')} } from '../../common/fields/index.js';
${entityImports(references, '..')}
${fields
  .flatMap(({ classes }) => classes)
  .map((code) => `${code}\n\n`)
  .join('')}/** The fields of ${title.toLowerCase()} that a client may send. */
export class ${Singular}Input {
${fields.map(({ code }) => code).join('\n\n')}
}
`;
}

function entityFile({ Singular, singular, tenant }) {
  const owner = `{
  @IsIdentifier()
  tenant!: string;
}`;
  return `import { Schema } from '@nestjs/mongoose';
${tenant ? "import { IsIdentifier } from '../common/fields/index.js';\n" : ''}import { ${Singular}Input } from './dto/${singular}-input.js';

/** A record as it is stored. */
@Schema({ timestamps: true })
export class ${Singular} extends ${Singular}Input ${tenant ? owner : '{}'}
`;
}

function moduleFile({ Plural, Singular, plural, singular, title, references, events, tenant }) {
  const scoped = tenant
    ? `isolationFields: { all: { tenant: currentTenant } },${events ? ' events: true,' : ''}`
    : '// Everybody reads and writes these records: isolationFields says whose they are.';
  const checked = references.map(
    ([path, resource]) =>
      `${path.includes('.') ? `'${path}'` : path}: { to: ${namesOf(resource).Singular}${tenant ? ", check: 'sameScope'" : ''} }`,
  );
  return `import { Module } from '@nestjs/common';
import { CrudModule } from '../common/crud/index.js';
${tenant ? "import { currentTenant } from '../common/tenancy/index.js';\n" : ''}import { ${Singular}Input } from './dto/${singular}-input.js';
import { ${Singular} } from './${singular}.schema.js';
${entityImports(references, '.')}
@Module({ imports: [CrudModule.forFeature({ entity: ${Singular}, input: ${Singular}Input, name: '${plural}', tag: '${title}',
${checked.length > 0 ? `references: { ${checked.join(', ')} },` : ''}
${scoped}
})] })
export class ${Plural}Module {}
`;
}

function testFile({ plural, Plural, folder, fields, references, tenant }) {
  const valid = Object.fromEntries(fields.map(({ name, example }) => [name, example]));
  const invalid = { 'an unknown field': { ...valid, unknownField: true } };
  for (const { name } of fields.filter(({ required }) => required)) {
    invalid[`no ${name}`] = Object.fromEntries(Object.entries(valid).filter(([other]) => other !== name));
  }
  const referred = [...new Set(references.map(([, resource]) => resource))].map(namesOf);
  const own = fields.filter((field) => field.references.length === 0);
  // A caller of another tenant cannot refer to the same records.
  const changes =
    referred.length > 0
      ? `  changes: ${bodyOf(Object.fromEntries(own.map(({ name, example }) => [name, example])))},\n`
      : '';
  const invalidBodies = Object.entries(invalid).map(
    ([what, body]) => `${JSON.stringify(what)}: ${bodyOf(body)}`,
  );
  const tenants = [...(referred.length > 0 ? ['ACME'] : []), ...(tenant ? ['acme', 'globex'] : [])];
  const [start, startImports] =
    referred.length > 0
      ? ['createTestApp()', "import { createTestApp, type TestApp } from './support/test-app.js';"]
      : [
          `createResourceApp({ module: ${Plural}Module })`,
          `import { ${Plural}Module } from '../src/${folder}/${plural}.module.js';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';`,
        ];
  return `${referred.length > 0 ? "import { Types } from 'mongoose';\n" : ''}import { describeCrudContract } from '../src/common/crud/testing/index.js';
${startImports}
${tenants.length > 0 ? `import { ${tenants.join(', ')} } from './support/tenants.js';\n` : ''}
let app: TestApp;
${referred.map(({ variable }) => `let ${variable}: string;\n`).join('')}beforeAll(async () => {
  app = await ${start};
${referred.map((resource) => `${resource.variable} = await stored('${resource.plural}');\n`).join('')}});
afterAll(() => app.close());
${referred.length > 0 ? STORED : ''}
describeCrudContract('${plural}', {
  app: () => app.app,
  path: '/${plural}',
${tenant ? '  token: () => acme,\n  otherToken: () => globex,\n' : ''}  valid: ${bodyOf(valid)},
${changes}  invalid: { ${invalidBodies.join(', ')} },
});
`;
}

const STORED = `
/** Stores a record to refer to, which a caller of the tenant can read. */
async function stored(collection: string): Promise<string> {
  const record = { tenant: new Types.ObjectId(ACME) };
  return String((await app.database.collection(collection).insertOne(record)).insertedId);
}
`;

/** A body in TypeScript's notation, keys without quotes if possible: a function where it has identifiers of records. */
function bodyOf(value) {
  const literal = JSON.stringify(value).replaceAll(/"(\w+)":/g, '$1:');
  const code = literal.replaceAll(/\b(\w+):"\\u0000\1"/g, '$1').replaceAll(/"\\u0000(\w+)"/g, '$1');
  return code === literal ? code : `() => (${code})`;
}
