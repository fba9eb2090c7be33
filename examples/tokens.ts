import { SignJWT } from 'jose';
import { type Environment, jwtSecretOf } from '../src/config/index.js';

/** People to try the examples as; the tenants are made up. */
const PEOPLE = [
  { name: 'Ada, administrator of Acme', tenant: '665f1c2ab7e3a90d4c8b0001', sub: 'ada', role: 'admin' },
  { name: 'Bob, member of Acme', tenant: '665f1c2ab7e3a90d4c8b0001', sub: 'bob', role: 'member' },
  { name: 'Eve, administrator of Globex', tenant: '665f1c2ab7e3a90d4c8b0002', sub: 'eve', role: 'admin' },
];

/** Lines with a token of each person; none if another service issues the tokens. */
export async function tokenLines(environment: Environment): Promise<string[]> {
  const secret = jwtSecretOf(environment);
  if (environment.nodeEnv === 'production' || !secret) return [];
  const lines = PEOPLE.map(async ({ name, tenant, ...claims }) => {
    const token = new SignJWT({ ...claims, [environment.jwtTenantClaim]: tenant })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setExpirationTime('8 hours');
    if (environment.jwtIssuer) token.setIssuer(environment.jwtIssuer);
    if (environment.jwtAudience) token.setAudience(environment.jwtAudience);
    return `${name}:\n${await token.sign(new TextEncoder().encode(secret))}\n`;
  });
  return [
    'Tokens for eight hours. Paste one into "Authorize" in the explorer, or send it as "Authorization: Bearer <token>".',
    'Each carries a tenant, a person (sub) and a role. A tenant sees only its own records.\n',
    ...(await Promise.all(lines)),
  ];
}
