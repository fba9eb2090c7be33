import { createServer } from 'node:net';

/** Prints a TCP port that nobody listens on. */
const server = createServer().listen(0, '127.0.0.1', () => {
  console.log(server.address().port);
  server.close();
});
