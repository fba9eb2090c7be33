import { parseArgs } from 'node:util';

/**
 * Reads the arguments of a command. `--help` prints its usage and ends the process; an argument that it does not
 * know ends the process with one sentence.
 *
 * @param options as for `parseArgs`
 * @param positionals number of arguments that are not options: the least and the most
 */
export function readArguments(usage, options = {}, { args, positionals: [least, most] = [0, 0] } = {}) {
  const help = { type: 'boolean', short: 'h' };
  let parsed;
  try {
    parsed = parseArgs({ args, options: { ...options, help }, allowPositionals: true });
  } catch ({ message }) {
    // Node adds sentences about its own syntax.
    const [, sentence] = /^(.*?)(?:\. |\n|$)/.exec(message);
    fail(`${sentence}; --help lists the options.`);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  if (positionals.length < least) fail(usage);
  if (positionals.length > most) fail(`"${positionals[most]}" is one argument too many; see --help.`);
  return { values, positionals };
}

/** Reads a number above 0, which may be required to be an integer; anything else ends the process. */
export function positive(name, text, { integer = false } = {}) {
  const value = Number(text);
  if (value > 0 && (!integer || Number.isInteger(value))) return value;
  return fail(`--${name} takes ${integer ? 'an integer' : 'a number'} above 0, such as --${name} 5.`);
}

/** Ends a command with an error message. */
export function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
