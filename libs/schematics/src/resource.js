import { format, resolveConfig } from 'prettier';
import { readFields } from './fields.js';
import { namesOf } from './names.js';

/**
 * The files of a new resource, formatted.
 *
 * @param plural name of the resource, such as `comments`
 * @param fieldTexts fields, such as `title:text!`
 * @param options `tenant`: whether each tenant has records of its own; `events`: whether subscribers of the tenant are
 * told of each write, which takes tenants
 * @returns pairs of path and content
 * @throws Error with a sentence if the name or a field is invalid
 */
export async function filesOf(plural, fieldTexts, { events = false, tenant = events } = {}) {
  const names = namesOf(plural);
  const fields = readFields(fieldTexts);
  const { singular } = names;
  const files = {
    [`src/${plural}/dto/${singular}-input.ts`]: inputFile(names, fields),
    [`src/${plural}/${singular}.schema.ts`]: entityFile(names, tenant),
    [`src/${plural}/${plural}.module.ts`]: moduleFile(names, { events, tenant }),
    [`test/${plural}.e2e-spec.ts`]: testFile(names, fields, tenant),
  };
  return Promise.all(
    Object.entries(files).map(async ([path, content]) => [
      path,
      await format(content, { ...(await resolveConfig(path)), filepath: path }),
    ]),
  );
}

/**
 * Adds the module of a resource to the text of `app.module.ts`.
 *
 * @throws Error with a sentence if it is already there, or the place is not found
 */
export function register(appModule, plural) {
  const { Plural } = namesOf(plural);
  const line = `import { ${Plural}Module } from './${plural}/${plural}.module.js';`;
  if (appModule.includes(line)) throw new Error(`src/app.module.ts has ${Plural}Module already.`);
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

function inputFile({ Singular, title }, fields) {
  const decorators = [...new Set(fields.map(({ decorator }) => decorator))].sort();
  return `import { ${decorators.join(', ')} } from '../../common/fields/index.js';

/** The fields of ${title.toLowerCase()} that a client may send. */
export class ${Singular}Input {
${fields.map(({ code }) => code).join('\n\n')}
}
`;
}

function entityFile({ Singular, singular }, tenant) {
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

function moduleFile({ Plural, Singular, plural, singular, title }, { events, tenant }) {
  const scoped = tenant
    ? `isolationFields: { all: { tenant: currentTenant } },${events ? ' events: true,' : ''}`
    : '// Everybody reads and writes these records: isolationFields says whose they are.';
  return `import { Module } from '@nestjs/common';
import { CrudModule } from '../common/crud/index.js';
${tenant ? "import { currentTenant } from '../common/tenancy/index.js';\n" : ''}import { ${Singular}Input } from './dto/${singular}-input.js';
import { ${Singular} } from './${singular}.schema.js';

@Module({ imports: [CrudModule.forFeature({ entity: ${Singular}, input: ${Singular}Input, name: '${plural}', tag: '${title}',
${scoped}
})] })
export class ${Plural}Module {}
`;
}

function testFile({ plural, Plural }, fields, tenant) {
  const valid = Object.fromEntries(fields.map(({ name, example }) => [name, example]));
  const invalid = { 'an unknown field': { ...valid, unknownField: true } };
  for (const { name } of fields.filter(({ required }) => required)) {
    invalid[`no ${name}`] = Object.fromEntries(Object.entries(valid).filter(([other]) => other !== name));
  }
  return `import { describeCrudContract } from '../src/common/crud/testing/index.js';
import { ${Plural}Module } from '../src/${plural}/${plural}.module.js';
import { createResourceApp } from './support/resource-app.js';
${tenant ? "import { acme, globex } from './support/tenants.js';\n" : ''}import type { TestApp } from './support/test-app.js';

let app: TestApp;
beforeAll(async () => {
  app = await createResourceApp({ module: ${Plural}Module });
});
afterAll(() => app.close());

describeCrudContract('${plural}', {
  app: () => app.app,
  path: '/${plural}',
${tenant ? '  token: () => acme,\n  otherToken: () => globex,\n' : ''}  valid: ${literalOf(valid)},
  invalid: ${literalOf(invalid)},
});
`;
}

/** A value in TypeScript's notation: keys without quotes if possible. */
function literalOf(value) {
  return JSON.stringify(value).replaceAll(/"(\w+)":/g, '$1:');
}
