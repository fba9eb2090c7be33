import { lastLines } from '../support/commands.js';

const POLL_MS = 50;
const JSON_BODY = { 'Content-Type': 'application/json' };

/**
 * Repeats a check until it succeeds.
 *
 * @throws Error if that takes longer than `withinMs`, if the service's command ends, or if its port is in use
 */
export async function until(check, command, withinMs) {
  const deadline = Date.now() + withinMs;
  const fail = (sentence) => {
    throw new Error(`${sentence}\n${lastLines(command)}`);
  };
  for (;;) {
    if (await check().catch(() => false)) return;
    if (command.output.includes('PORT is in use')) fail('The port is in use:');
    if (command.hasEnded) fail(`${command.name} has ended:`);
    if (Date.now() > deadline) fail(`Not after ${withinMs / 1_000} s:`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Whether a resource accepts a record with this title. */
export async function creates(url, path, title = 'Water the plants') {
  const body = JSON.stringify({ title });
  return (await fetch(`${url}/${path}`, { method: 'POST', headers: JSON_BODY, body })).status === 201;
}

/** Whether the service is ready, still has its data, and describes `GET /health/live` as the sources do. */
export async function serves(url, summary) {
  const document = await (await fetch(`${url}/docs/openapi.json`)).json();
  const ready = await fetch(`${url}/health/ready`);
  const todos = await fetch(`${url}/todos/count`);
  const { count } = await todos.json();
  return ready.ok && todos.ok && count > 0 && document.paths['/health/live'].get.summary === summary;
}

/** Whether nothing answers. */
export async function isDown(url) {
  return !(await fetch(`${url}/health/live`).catch(() => undefined))?.ok;
}
