/* eslint-disable @typescript-eslint/no-extraneous-class -- Decorators fill them. */
import 'reflect-metadata';
import { after, before, describe, it } from 'node:test';
import { NestFactory } from '@nestjs/core';
import { Schema } from '@nestjs/mongoose';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { expect } from 'expect';
import { SignJWT } from 'jose';
import { createCrudApp, CrudModule, currentTenant, IsIdentifier, IsText } from 'nestjs-mongo-crud';
import { describeCrudContract } from 'nestjs-mongo-crud/testing';

// What Jest gives to tests.
Object.assign(globalThis, { describe, it, expect });

class NoteInput {}
IsText({ min: 1, max: 500 })(NoteInput.prototype, 'text');
class Note extends NoteInput {}
IsIdentifier()(Note.prototype, 'tenant');
Schema({ timestamps: true })(Note);

const secret = 'of nobody, and longer than thirty-two bytes';
class Root {}
const root = () => ({
  module: Root,
  imports: [
    CrudModule.forRoot({ database: { memory: true }, tokens: { secret } }),
    CrudModule.forFeature({
      entity: Note,
      input: NoteInput,
      name: 'notes',
      isolationFields: { all: { tenant: currentTenant } },
    }),
  ],
});
const PLATFORMS = {
  Express: () => NestFactory.create(root(), { logger: false }),
  Fastify: () => NestFactory.create(root(), new FastifyAdapter(), { logger: false }),
  createCrudApp: () => createCrudApp(root(), { logLevel: 'silent' }),
};
const tokenOf = (tenant) =>
  new SignJWT({ tenant, exp: Math.floor(Date.now() / 1_000) + 600 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(secret));

for (const [platform, create] of Object.entries(PLATFORMS)) {
  describe(`${platform} of Nest 11`, () => {
    let app;
    const tokens = [];
    before(async () => {
      tokens.push(await tokenOf('665f1c2ab7e3a90d4c8b0001'), await tokenOf('665f1c2ab7e3a90d4c8b0002'));
      app = await create();
      await app.listen(0, '127.0.0.1');
    });
    after(() => app.close());
    describeCrudContract('notes', {
      app: () => app,
      path: '/notes',
      valid: { text: 'Dear Emma' },
      invalid: { 'no text': {} },
      token: () => tokens[0],
      otherToken: () => tokens[1],
    });
  });
}
