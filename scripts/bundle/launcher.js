import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

/** Size of the digest at the beginning of the compiled code. Unit: bytes. */
const DIGEST_BYTES = 32;

/**
 * Runs a bundle with the code that V8 compiled at build time, since compiling takes a third of a start. V8
 * rejects code of another version or for other flags, and then compiles the bundle itself.
 *
 * @param name of the bundle, such as `main`
 * @returns its script, and a promise that resolves once it has started
 */
export function launch(name) {
  const file = fileOf(`${name}.cjs`);
  const text = readFileSync(file);
  // The text is ASCII, so one byte per character is enough.
  const script = new Script(text.toString('latin1'), {
    filename: file,
    cachedData: compiledCode(name, text),
  });
  const module = { exports: {} };
  const run = script.runInThisContext();
  run(module.exports, createRequire(file), module, file, dirname(file), (specifier) => import(specifier));
  return { script, started: module.exports.started };
}

/** Stores the code that V8 has compiled of a bundle so far, for this version of Node on this kind of processor. */
export function keepCompiled(name, script) {
  const code = script.createCachedData();
  writeFileSync(codeFile(name), Buffer.concat([digestOf(readFileSync(fileOf(`${name}.cjs`)), code), code]));
}

/** The stored code for the text; none if either has changed since, which V8 would not notice. */
function compiledCode(name, text) {
  if (!existsSync(codeFile(name))) return undefined;
  const kept = readFileSync(codeFile(name));
  const [digest, code] = [kept.subarray(0, DIGEST_BYTES), kept.subarray(DIGEST_BYTES)];
  return digest.equals(digestOf(text, code)) ? code : undefined;
}

function digestOf(text, code) {
  return createHash('sha256').update(text).update(code).digest();
}

function codeFile(name) {
  return fileOf(`${name}.${process.version}-${process.arch}.code`);
}

function fileOf(name) {
  return fileURLToPath(new URL(name, import.meta.url));
}
