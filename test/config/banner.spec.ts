import { bannerOf } from '../../src/app.banner.js';
import { readEnvironment } from '../../src/config/index.js';
import { TEST_SECRET } from '../support/tenants.js';

const url = 'http://127.0.0.1:3000';

it('a terminal shows where everything is, on the embedded database', () => {
  const databaseUri = 'mongodb://%2Fdata%2Fmongodb.sock/posts-and-todos';
  expect(bannerOf({ url, environment: readEnvironment({}), databaseUri })).toBe(`
  API       http://127.0.0.1:3000
  Explorer  http://127.0.0.1:3000/docs
  Database  embedded; for mongosh and Compass: mongodb://%2Fdata%2Fmongodb.sock/posts-and-todos
  Tokens    npm run token -- --tenant 665f1c2ab7e3a90d4c8b0001
  Stop      Ctrl-C

`);
});

it('a terminal shows neither the credentials of MongoDB nor a command that production rejects', () => {
  const databaseUri = 'mongodb://user:secret@a.example.com,b.example.com/app?replicaSet=rs0&tls=true';
  const environment = readEnvironment({
    NODE_ENV: 'production',
    MONGODB_URI: databaseUri,
    JWT_SECRET: TEST_SECRET,
  });
  const banner = bannerOf({ url, environment, databaseUri });
  expect(banner).toContain('Database  mongodb://a.example.com,b.example.com/app\n');
  expect(banner).toContain('Tokens    from your identity provider, see docs/tokens.md');
  expect(banner).not.toContain('secret');
});
