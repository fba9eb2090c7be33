import { format, resolveConfig } from 'prettier';
import { mergeMap, of } from 'rxjs';
import { newResource } from './resource.js';

const APP_MODULE = '/src/app.module.ts';

/**
 * The factory of the schematic `resource`, called by the Nest CLI, which names its second argument the path.
 */
export function resource({ name, path: fields = '', ...options }) {
  return async (tree, { logger }) => {
    const application = { appModule: tree.readText(APP_MODULE), exists: (path) => tree.exists(`/${path}`) };
    const { files, appModule, notice } = await newResource(name, fields.split(/[\s,]+/), {
      ...options,
      ...application,
    });
    for (const [file, content] of files) tree.create(`/${file}`, content);
    tree.overwrite(APP_MODULE, appModule);
    if (notice) logger.info(notice);
  };
}

/**
 * One of Nest's own schematics, with this project's formatter settings, which its option `format` does not
 * find.
 */
function formatted(schematic) {
  return (options) => (tree, context) =>
    context.engine
      .createCollection('@nestjs/schematics', context.schematic.collection)
      .createSchematic(schematic)
      .call(options, of(tree.branch()), context)
      .pipe(mergeMap(formatAll));
}

async function formatAll(tree) {
  const changed = tree.actions.filter(({ kind, path }) => kind !== 'd' && path.endsWith('.ts'));
  for (const { path } of changed) {
    const filepath = path.slice(1);
    const options = { ...(await resolveConfig(filepath)), filepath };
    tree.overwrite(path, await format(tree.readText(path), options));
  }
  return tree;
}

export const module = formatted('module');
export const controller = formatted('controller');
export const service = formatted('service');
