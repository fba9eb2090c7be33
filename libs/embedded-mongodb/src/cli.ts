#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { startEmbeddedMongodb } from './index.js';

const usage = 'Usage: nestjs-mongo-crud-embedded (--dir DIR | --memory) [--port N | --socket PATH]';

function readOptions(): Parameters<typeof startEmbeddedMongodb>[0] {
  const { values } = parseArgs({
    options: {
      dir: { type: 'string' },
      memory: { type: 'boolean' },
      port: { type: 'string' },
      socket: { type: 'string' },
    },
  });
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new Error('--port takes a whole number from 0 to 65535.');
  }
  return { ...values, port };
}

try {
  const server = await startEmbeddedMongodb(readOptions());
  process.stdout.write(`${server.uri}\n`);
  // The server's thread does not keep the process alive.
  const alive = setInterval(() => undefined, 60_000);
  const stop = (): void => {
    clearInterval(alive);
    void server.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
  process.exit(1);
}
