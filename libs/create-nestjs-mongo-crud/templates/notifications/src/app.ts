import { type INestApplication, Module } from '@nestjs/common';
import { createCrudApp, type DatabaseOptions, shutDownOnSignal } from 'nestjs-mongo-crud';
import { describeWebhooks, NotificationsModule } from 'nestjs-mongo-crud/notifications';
import { AppModule } from './app.module.js';

@Module({})
class Root {}

export async function createApp(database: DatabaseOptions): Promise<INestApplication> {
  // Receivers on this machine are for development.
  const isDevelopment = process.env.NODE_ENV !== 'production';
  const targets = { allowPrivate: isDevelopment, httpsOnly: !isDevelopment };
  const imports = [AppModule.on(database), NotificationsModule.forRoot({ targets })];
  const docs = { title: 'Notes', token: '`npm run token` prints one.', webhooks: describeWebhooks };
  const app = await createCrudApp({ module: Root, imports }, { docs });
  shutDownOnSignal(app);
  return app;
}
