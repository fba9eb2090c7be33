/**
 * Starts a bundle, and keeps beside it what V8 has compiled by then: `node scripts/bundle/compile.js main`. The functions that a start
 * needs are compiled one by one as they are called, and stay in what is kept.
 */
const { keepCompiled, launch } = await import('../../dist/bundle/launcher.js');
const [name] = process.argv.slice(2);
const { script, started } = launch(name);
await started;
keepCompiled(name, script);
process.exit();
