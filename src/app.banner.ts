import type { Environment } from './config/index.js';

export const TOKEN_COMMAND = 'npm run token -- --tenant 665f1c2ab7e3a90d4c8b0001';

/** Whether {@link TOKEN_COMMAND} makes tokens that the service accepts. */
export function signsTokens({ nodeEnv, jwtJwksUrl }: Environment): boolean {
  return nodeEnv !== 'production' && !jwtJwksUrl;
}

/** A few lines for the terminal once the service has started, with addresses and commands to copy. */
export function bannerOf({
  url,
  environment,
  databaseUri,
}: Record<'url' | 'databaseUri', string> & { environment: Environment }): string {
  const { mongodbUri, jwtSecret, docs } = environment;
  const tokens = signsTokens(environment)
    ? `${TOKEN_COMMAND}${jwtSecret ? ' (with the same JWT_SECRET)' : ''}`
    : 'from your identity provider, see docs/tokens.md';
  const rows = [
    ['API', url],
    ['Explorer', docs === 'on' ? `${url}/docs` : 'off'],
    [
      'Database',
      mongodbUri ? withoutLogin(databaseUri) : `embedded; for mongosh and Compass: ${databaseUri}`,
    ],
    ['Tokens', tokens],
    ['Stop', 'Ctrl-C'],
  ];
  return `\n${rows.map(([name = '', text = '']) => `  ${name.padEnd(10)}${text}`).join('\n')}\n\n`;
}

/** Removes user, password and options, which must not appear on a screen. */
function withoutLogin(uri: string): string {
  return uri.replace(/\/\/[^/]*@/, '//').replace(/\?.*$/, '');
}
