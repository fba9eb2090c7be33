import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { BeforeCreate, BeforeUpdate } from '../../src/common/crud/index.js';
import type { ProfilePatch, SignUp, User } from './user.js';

const derive = promisify<string, Buffer, number, Buffer>(scrypt);

/** Keeps a hash of each password, and never the password. */
@Injectable()
export class UserHooks {
  async beforeCreate({ input, record }: BeforeCreate<User, SignUp>) {
    record.passwordHash = await hashOf(input.password);
  }

  async beforeUpdate({ changes, record }: BeforeUpdate<User, ProfilePatch>) {
    if (typeof changes.password === 'string') record.passwordHash = await hashOf(changes.password);
  }
}

async function hashOf(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password.normalize('NFKC'), salt, 64);
  return `scrypt:${salt.toString('base64')}:${key.toString('base64')}`;
}
