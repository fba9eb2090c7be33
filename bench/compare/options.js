import { parseArgs } from 'node:util';
import { OPERATIONS } from './operations.js';
import { LIMIT, PEERS } from './peers.js';

/** The default participants. */
const USUAL = Object.keys(PEERS);

/** Reads the command-line options; ends the process with a message if one is invalid. */
export function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        repeats: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '3' },
        connections: { type: 'string', default: '1,8,64' },
        peers: { type: 'string', default: USUAL.join(',') },
        operations: { type: 'string', default: Object.keys(OPERATIONS).join(',') },
        todos: { type: 'string', default: '100000' },
        output: { type: 'string', default: 'bench/compare/results' },
      },
    });
    const chosen = listed('peers', values.peers, Object.keys(PEERS));
    return {
      repeats: positive('repeats', values.repeats),
      seconds: positive('seconds', values.seconds),
      connections: values.connections.split(',').map((text) => positive('connections', text)),
      peers: [LIMIT, ...chosen.filter((name) => name !== LIMIT)],
      operations: listed('operations', values.operations, Object.keys(OPERATIONS)),
      todos: Math.max(100, positive('todos', values.todos)),
      output: values.output,
    };
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} takes numbers above 0`);
  return value;
}

function listed(name, text, allowed) {
  const values = text.split(',');
  if (values.every((value) => allowed.includes(value))) return values;
  throw new Error(`--${name} takes some of ${allowed.join(',')}`);
}
