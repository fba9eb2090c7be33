import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

/**
 * Runs a bundle with the code that V8 has compiled of it at the build, since compiling takes a third of a start. V8 takes no code of
 * another version or for other flags of its own, and compiles the bundle then.
 *
 * @param name of the bundle, such as `main`
 * @returns its script, and a promise that is kept once it has started
 */
export function launch(name) {
  const file = fileURLToPath(new URL(`${name}.cjs`, import.meta.url));
  // All of it is ASCII, for which a byte a character is enough.
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, cachedData: compiledCode(name) });
  const module = { exports: {} };
  const run = script.runInThisContext();
  run(module.exports, createRequire(file), module, file, dirname(file), (specifier) => import(specifier));
  return { script, started: module.exports.started };
}

/** The file of a bundle's compiled code, which belongs to one version of Node on one kind of processor. */
export function codeFile(name) {
  return fileURLToPath(new URL(`${name}.${process.version}-${process.arch}.code`, import.meta.url));
}

function compiledCode(name) {
  try {
    return readFileSync(codeFile(name));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
