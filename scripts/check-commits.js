import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readArguments } from './support/arguments.js';

/**
 * Checks commit messages. `node scripts/check-commits.js main..HEAD` checks those of a range. With the path
 * of a file, checks the message in it, for use as git's commit-msg hook.
 */
const TYPES = ['feat', 'fix', 'perf', 'refactor', 'test', 'docs', 'style', 'build', 'ci', 'chore', 'revert'];
const SUBJECT = new RegExp(`^(${TYPES.join('|')})(\\([a-z0-9-]+\\))?!?: \\S`);
const MAX_SUBJECT = 72;
const MAX_LINE = 100;

/** Returns the faults of a message. */
function faultsOf(message) {
  const [subject = '', blank = '', ...body] = message.split('\n');
  return [
    !SUBJECT.test(subject) && `begin with type(scope): or type: and one of the types ${TYPES.join(', ')}`,
    subject.length > MAX_SUBJECT && `the subject has ${subject.length} characters; at most ${MAX_SUBJECT}`,
    subject.endsWith('.') && 'leave out the full stop of the subject',
    blank !== '' && 'leave the second line empty',
    // A line without a space, such as a URL, cannot be wrapped.
    body.some((line) => line.length > MAX_LINE && line.trim().includes(' ')) &&
      `wrap the lines of the body at ${MAX_LINE} characters`,
  ].filter(Boolean);
}

function messagesOf(argument) {
  const git = (args, input) => execFileSync('git', args, { encoding: 'utf8', input });
  const texts = existsSync(argument)
    ? [git(['stripspace', '--strip-comments'], readFileSync(argument))]
    : git(['log', '--no-merges', '--format=%B%x00', argument]).split('\0');
  return texts.map((message) => message.trim()).filter(Boolean);
}

const usage = 'Usage: node scripts/check-commits.js <range, such as main..HEAD | path of a message>';
const { positionals } = readArguments(usage, {}, { positionals: [1, 1] });
for (const message of messagesOf(positionals[0])) {
  for (const fault of faultsOf(message)) {
    console.error(`${message.split('\n', 1)[0]}\n  ${fault}`);
    process.exitCode = 1;
  }
}
