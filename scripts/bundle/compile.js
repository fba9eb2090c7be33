/**
 * Starts a bundle and stores the code that V8 has compiled by then next to it: `node scripts/bundle/compile.js main`. The
 * functions that a start needs are compiled when they are called, and are therefore included.
 */
const { keepCompiled, launch } = await import('../../dist/bundle/launcher.js');
const [name] = process.argv.slice(2);
const { script, started } = launch(name);
await started;
keepCompiled(name, script);
process.exit();
