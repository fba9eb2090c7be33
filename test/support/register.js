/** What a process of the runner loads first: it reads TypeScript, and gets its settings. */
import '@swc-node/register/esm-register';

/**
 * The runner sends its settings to all processes when the first one asks, and never again (jest-light-runner 0.7), so
 * that one which asks later waits for ever. What it sent is kept until the process listens.
 */
let settings;
const keep = (message) => {
  if (message?.type === 'jest-light-runner-worker-data') settings = message;
};
process.on('newListener', (event, listener) => {
  if (event !== 'message' || listener === keep) return;
  if (settings) queueMicrotask(() => listener(settings));
  // Not before the runner itself listens, since that begins the reading of messages.
  else if (!process.listeners('message').includes(keep)) process.on('message', keep);
});

// What a failed test leaves open does not outlive the run.
process.on('disconnect', () => process.exit());
