import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { DatabaseOptions } from 'nestjs-mongo-crud';
import { AppModule } from './app.module.js';

export async function createApp(database: DatabaseOptions): Promise<INestApplication> {
  const app = await NestFactory.create(AppModule.on(database));
  const api = new DocumentBuilder().setTitle('Notes').addBearerAuth().build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, api));
  return app.enableShutdownHooks();
}
