import { Logger } from '@nestjs/common';
import { createApp } from './app.js';

const { MONGODB_URI: uri, PORT = 3000, HOST = '127.0.0.1' } = process.env;
const app = await createApp(uri ? { uri } : { embeddedDir: './data' });
// Before Nest logs the error.
app.getHttpServer().once('error', (error: Error) => {
  process.stderr.write(`${error.message}. Choose another PORT or HOST.\n`);
  process.exit(1);
});
await app.listen(PORT, HOST);
new Logger('Main').log(`The explorer is at http://localhost:${PORT}/docs`);
