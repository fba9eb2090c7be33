import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { filesOf, register } from '../libs/schematics/src/resource.js';

/**
 * `npm run generate -- comments title:text! body:text due:timestamp` writes a resource and adds it to the
 * application. The schematic in libs/schematics does the same for the Nest CLI.
 */
const APP_MODULE = 'src/app.module.ts';
const [name, ...fields] = process.argv.slice(2);

try {
  const files = await filesOf(name, fields);
  const registered = register(readFileSync(APP_MODULE, 'utf8'), name);
  const existing = files.find(([path]) => existsSync(path));
  if (existing) throw new Error(`${existing[0]} is there already.`);
  for (const [path, content] of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    console.log(`CREATE ${path}`);
  }
  writeFileSync(APP_MODULE, registered);
  console.log(`UPDATE ${APP_MODULE}`);
} catch (error) {
  console.error(`${error.message}\nUsage: npm run generate -- comments title:text! body:text due:timestamp`);
  process.exitCode = 1;
}
