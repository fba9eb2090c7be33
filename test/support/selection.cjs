const { readFileSync } = require('node:fs');
const { extract, parse } = require('jest-docblock');

/** Which files run, by the tags in the comment at their top: see "Running tests" in CONTRIBUTING.md. */
const SELECTIONS = {
  all: () => true,
  quick: ({ slow, mongodb }) => slow === undefined && mongodb !== 'only',
  slow: ({ slow, mongodb }) => slow !== undefined && mongodb !== 'only',
  mongodb: ({ mongodb }) => mongodb !== undefined,
};

module.exports = async function select(paths) {
  // Whoever names files or tests wants them.
  const isNamed = process.argv.slice(2).some((argument) => !argument.startsWith('-'));
  const isAll = isNamed || process.env.npm_lifecycle_event === 'test:all';
  const wanted = process.env.TESTS ?? (isAll ? 'all' : 'quick');
  const isSelected = SELECTIONS[wanted];
  if (!isSelected) throw new Error(`TESTS=${wanted} is unknown. Use ${Object.keys(SELECTIONS).join(', ')}.`);
  const filtered = paths.filter((path) => isSelected(parse(extract(readFileSync(path, 'utf8')))));
  if (wanted === 'quick')
    console.error(
      `${filtered.length} files, in four minutes on two free cores. ` +
        `${paths.length - filtered.length} slow ones are left out: npm run test:all runs everything.`,
    );
  return { filtered };
};
