import { readFileSync } from 'node:fs';

// The first import of every program, before and after the build: replaces the errors, or the silence, of an older
// Node with one clear sentence.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [major, minor] = process.versions.node.split('.').map(Number);

/** Whether a range such as `^20.19.0` or `>=24.0.0` includes this version. */
function includes(range) {
  const [, sign, leastMajor, leastMinor] = /^(\^|>=)(\d+)\.(\d+)/.exec(range);
  if (major === Number(leastMajor)) return minor >= Number(leastMinor);
  return sign === '>=' && major > Number(leastMajor);
}

if (!engines.node.split(' || ').some(includes)) {
  console.error(
    `Node ${process.versions.node} cannot run this project. Install Node 20.19 or newer, 22.12 or newer, or 24 or newer from https://nodejs.org (with nvm: nvm install).`,
  );
  process.exit(1);
}
