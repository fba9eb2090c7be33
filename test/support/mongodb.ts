import { randomBytes } from 'node:crypto';

/** The connection string of a database that no other suite uses. */
export function freshDatabaseUri(): string {
  const base = process.env.MONGODB_URI;
  if (!base)
    throw new Error('Set MONGODB_URI to a MongoDB for the tests, for example mongodb://127.0.0.1:27017.');
  const uri = new URL(base);
  uri.pathname = `/test_${randomBytes(6).toString('hex')}`;
  // So that a test can see the commands that the service sends.
  uri.searchParams.set('monitorCommands', 'true');
  return uri.href;
}
