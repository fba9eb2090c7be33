import { after, before, describe, it } from 'node:test';
import type { INestApplication } from '@nestjs/common';
import { expect } from 'expect';
import { describeCrudContract } from 'nestjs-mongo-crud/testing';
import { createApp } from './app.js';
import { tokenOf } from './token.js';

// The contract uses the globals of any test runner.
Object.assign(globalThis, { describe, it, expect });

describe('the application', () => {
  let app: INestApplication;
  let token: string;
  let otherToken: string;
  before(async () => {
    token = await tokenOf();
    otherToken = await tokenOf('665f1c2ab7e3a90d4c8b0002');
    app = await createApp({ memory: true });
    await app.listen(0, '127.0.0.1');
  });
  after(() => app.close());

  describeCrudContract('notes', {
    app: () => app,
    path: '/notes',
    valid: { text: 'Buy stamps' },
    invalid: { 'no text': {} },
    token: () => token,
    otherToken: () => otherToken,
  });
});
