import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runNode } from '../support/run.js';

const folder = mkdtempSync(join(tmpdir(), 'messages-'));
afterAll(() => rmSync(folder, { recursive: true }));

function check(message: string) {
  const file = join(folder, 'COMMIT_EDITMSG');
  writeFileSync(file, message);
  const { status, stderr } = runNode(['scripts/check-commits.js', file]);
  return [status, stderr];
}

it.each([
  'feat(crud): let a feature replace one handler',
  'docs: tokens in production\n\nNobody learned where they come from.\n# Please enter the commit message\n',
  `fix(api)!: an address may be long\n\nhttps://example.com/${'a'.repeat(100)}`,
])('takes the message %j', (message) => {
  expect(check(message)).toEqual([0, '']);
});

it.each([
  ['Fix it', 'begin with type(scope): or type: and one of the types'],
  ['improve(api): lists', 'begin with type(scope): or type: and one of the types'],
  [`feat: ${'a'.repeat(67)}`, 'the subject has 73 characters; at most 72'],
  ['feat: lists.', 'leave out the full stop of the subject'],
  ['feat: lists\nand pages', 'leave the second line empty'],
  [`feat: lists\n\n${'word '.repeat(30)}`, 'wrap the lines of the body at 100 characters'],
])('rejects the message %j', (message, fault) => {
  expect(check(message)).toEqual([1, expect.stringContaining(fault)]);
});
