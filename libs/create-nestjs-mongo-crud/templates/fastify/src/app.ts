import type { INestApplication } from '@nestjs/common';
import { createCrudApp, type DatabaseOptions, shutDownOnSignal } from 'nestjs-mongo-crud';
import { AppModule } from './app.module.js';

export async function createApp(database: DatabaseOptions): Promise<INestApplication> {
  const app = await createCrudApp(AppModule.on(database), {
    docs: { title: 'Notes', token: '`npm run token` prints one.' },
  });
  shutDownOnSignal(app);
  return app;
}
