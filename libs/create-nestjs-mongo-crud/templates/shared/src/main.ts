import { Logger } from '@nestjs/common';
import { createApp } from './app.js';

const { MONGODB_URI: uri, PORT = 3000, HOST = '127.0.0.1' } = process.env;
const app = await createApp(uri ? { uri } : { embeddedDir: './data' });
await app.listen(PORT, HOST).catch((error: Error) => {
  process.stderr.write(`${error.message}. Choose another PORT or HOST.\n`);
  process.exit(1);
});
new Logger('Main').log(`The explorer is at http://localhost:${PORT}/docs`);
