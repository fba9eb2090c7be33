import '../src/check-node.js';
import { buildModules } from './build-if-missing.js';
import { fail, positive, readArguments } from './support/arguments.js';

const USAGE = `Usage: npm run token -- --tenant <24 hexadecimal digits> [--sub <text>] [--hours <number, default 8>]

Prints a token that acts for the tenant, for example: npm run --silent token -- --tenant 665f1c2ab7e3a90d4c8b0001
With --sub ada it acts for the person ada of the tenant. Run it with the DATA_DIR or JWT_SECRET of the service.
Send it as "Authorization: Bearer <token>". Only for development; docs/tokens.md is about production.`;

const TEXT = { type: 'string' };
const { values } = readArguments(USAGE, { tenant: TEXT, sub: TEXT, hours: { ...TEXT, default: '8' } });
const { tenant = '', sub } = values;
if (!/^[0-9a-f]{24}$/i.test(tenant)) fail(USAGE);
const hours = positive('hours', values.hours);
await buildModules();
const { tokenOf } = await import('../dist/token.js');
console.log(await tokenOf({ tenant, sub, hours }).catch(({ message }) => fail(message)));
