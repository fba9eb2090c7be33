import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** Arguments that start shells as in a terminal, but without settings of the user. */
const INTERACTIVE = { bash: ['--noprofile', '--norc', '-i'], zsh: ['-f', '-i'] };
/** Without a history file, the shell does not write one. */
const TERMINAL = { PS1: '', PS2: '', HISTFILE: '' };
const SHOWN_LINES = 20;

const running = new Set();
process.on('exit', () => {
  for (const command of running) command.signal('SIGKILL');
});

/** Whether a shell is on the PATH. */
export function isInstalled(shell) {
  return spawnSync(shell, ['--version']).status === 0;
}

/**
 * Starts a program in its own process group, which ends with this process at the latest.
 *
 * @returns `output`, what it has written so far; `ended`, a promise of its exit code or signal; and `signal(name)`, which
 * sends a signal to the whole group, as a terminal does with Ctrl-C
 */
export function startCommand(program, args, { cwd, env, input = '' }) {
  const child = spawn(program, args, { cwd, env, detached: true });
  const command = {
    name: [program, ...args].join(' '),
    output: '',
    hasEnded: false,
    ended: once(child, 'close').then(([code, signal]) => code ?? signal),
    signal: (name) => {
      try {
        process.kill(-child.pid, name);
      } catch {
        // It has ended.
      }
    },
  };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (command.output += text));
  // A command that ends early does not read its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  running.add(command);
  command.ended
    .catch((error) => (command.output += error.message))
    .finally(() => {
      command.hasEnded = true;
      running.delete(command);
    });
  return command;
}

/**
 * Types text into an interactive shell. Unlike in a script, bash and zsh expand `!` there, and zsh does not
 * know comments. The exit code is that of the last line, or not 0 if the shell could not read the text.
 *
 * @param name for error messages; the text by default
 * @returns the same as {@link startCommand}
 */
export function typeInto(shell, text, { name = text, cwd, env }) {
  const input = `(exit 99)\n${text}\nexit $?\n`;
  const command = startCommand(shell, INTERACTIVE[shell], { cwd, env: { ...env, ...TERMINAL }, input });
  return Object.assign(command, { name: `${name} (${shell})` });
}

/**
 * Waits for the end of a command.
 *
 * @throws Error with its last lines if it fails, or if it has not ended after `withinMs` and is killed
 */
export async function succeeded(command, withinMs) {
  const code = await endOf(command, withinMs);
  if (code !== 0) throw new Error(`${command.name} ended with ${code}:\n${lastLines(command)}`);
}

/** Presses Ctrl-C, and throws an Error if the command has not ended after `withinMs`. */
export async function pressCtrlC(command, withinMs) {
  command.signal('SIGINT');
  await endOf(command, withinMs);
}

async function endOf(command, withinMs) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, withinMs, 'late');
  });
  const code = await Promise.race([command.ended, late]);
  clearTimeout(timer);
  if (code !== 'late') return code;
  command.signal('SIGKILL');
  throw new Error(`${command.name} has not ended after ${withinMs / 1_000} s:\n${lastLines(command)}`);
}

/** The last lines of a command's output. */
export function lastLines({ output }) {
  return output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
}
