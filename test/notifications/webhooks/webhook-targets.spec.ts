import {
  isGlobal,
  type ResolveName,
  type TargetPolicy,
} from '../../../src/common/notifications/webhooks/targets.js';
import { WebhookSender } from '../../../src/common/notifications/webhooks/webhook-sender.js';

const PUBLIC = { allowPrivate: false, httpsOnly: false };
const ANYWHERE = { allowPrivate: true, httpsOnly: false };
const NOT_PUBLIC = 'The URL must lead to a public address.';

const targetViolation = (url: string, policy: TargetPolicy, resolve?: ResolveName) =>
  new WebhookSender(policy, { resolve }).violationOf(url);
const fault = (url: string, policy = PUBLIC, ...addresses: string[]) =>
  targetViolation(url, policy, () => Promise.resolve(addresses));

/** Of each kind its URLs, which white space separates. */
const each = (kinds: Record<string, string>) =>
  Object.entries(kinds).flatMap(([kind, urls]) =>
    urls
      .trim()
      .split(/\s+/)
      .map((url) => [url, kind] as const),
  );

describe('a target', () => {
  it.each([
    ...['https://hooks.example.com/path?a=b#c', 'http://hooks.example.com:8080', 'https://93.184.216.34/'],
    ...['https://hooks.example.com/%20?mail=a@b.example', 'https://hooks.example.com./'],
    'https://[2606:2800:220:1:248:1893:25c8:1946]/',
  ])('may be %s', async (url) => {
    expect(await fault(url, PUBLIC, '93.184.216.34', '2606:2800:220:1::1')).toBeUndefined();
  });

  it.each(
    each({
      'of loopback, in a spelling of the URL standard': `
         http://127.0.0.1/ http://127.1/ http://127.0.0.1./ http://2130706433/ http://0x7f000001/
         http://0x7f.1/ http://017700000001/ http://0177.0.0.1/ http://①②⑦.⓪.⓪.①/ http://%31%32%37.0.0.1/
         http://[::1]/ http://[0:0:0:0:0:0:0:1]/ http:\\\\127.0.0.1\\ http:127.0.0.1`,
      'of this network': 'http://0.0.0.0/ http://0/ http://0.1.2.3/',
      'private or shared': `
         http://10.0.0.1/ http://172.16.0.1/ http://172.31.255.255/ http://192.168.1.1/ http://100.64.0.1/
         http://100.100.100.200/`,
      'link-local, or of metadata':
        'http://169.254.169.254/latest/meta-data http://168.63.129.16/ http://192.0.0.192/',
      'for documentation and benchmarks, multicast, reserved or broadcast': `
         http://192.0.2.1/ http://198.51.100.1/ http://203.0.113.1/ http://198.18.0.1/ http://192.88.99.1/
         http://224.0.0.1/ http://240.0.0.1/ http://255.255.255.255/`,
      'IPv6, and unspecified, local, multicast, for documentation, discarded or not handed out': `
         http://[::]/ http://[fc00::1]/ http://[fd00:ec2::254]/ http://[fe80::1]/ http://[fec0::1]/
         http://[ff02::1]/ http://[2001:db8::1]/ http://[3fff::1]/ http://[100::1]/ http://[4000::1]/
         http://[2001:1::1]/`,
      'IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4 or Teredo': `
         http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::ffff:8.8.8.8]/ http://[::127.0.0.1]/
         http://[::ffff:0:127.0.0.1]/ http://[64:ff9b::127.0.0.1]/ http://[64:ff9b:1::a00:1]/
         http://[2002:7f00:1::]/ http://[2002:a00:1::1]/ http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/`,
    }),
  )('is not %s, which is %s', async (url) => {
    expect(await fault(url, PUBLIC, '127.0.0.1')).toBe(NOT_PUBLIC);
    expect(await fault(url, ANYWHERE, '127.0.0.1')).toBeUndefined();
  });

  it.each([['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::1', '2606:2800:220:1::1'], ['not an address']])(
    'is not a name with the addresses %s %s',
    async (...addresses) => {
      expect(await fault('https://hooks.example.com/', PUBLIC, ...addresses)).toBe(NOT_PUBLIC);
    },
  );

  it.each<[string, ResolveName?]>([
    ['has no address', () => Promise.resolve([])],
    ['is unknown', () => Promise.reject(new Error('ENOTFOUND'))],
    ['the system does not know'],
  ])('is not a name that %s, in the words for an internal one', async (_name, resolve) => {
    const url = 'http://no-such-name.invalid/';
    expect(await targetViolation(url, PUBLIC, resolve)).toBe(NOT_PUBLIC);
    expect(await targetViolation(url, ANYWHERE, resolve)).toBe('The name in the URL cannot be resolved.');
  });

  it('is not localhost, which the system knows', async () => {
    expect(await targetViolation('http://localhost/', PUBLIC)).toBe(NOT_PUBLIC);
    expect(await targetViolation('http://localhost/', ANYWHERE)).toBeUndefined();
  });

  it.each([
    ...each({
      'The URL must be an http or https URL.': `
         ftp://hooks.example.com/ javascript:alert(1) file:///etc/passwd hooks.example.com http://
         http://[fe80::1%25eth0]/`,
      'The URL must have no user information.': `
         https://user@hooks.example.com/ https://user:secret@hooks.example.com/ https://:@hooks.example.com/
         https:hooks@hooks.example.com/ https:\\\\user@hooks.example.com/`,
      'The URL must not have the port 0.': 'https://hooks.example.com:0/ https://hooks.example.com:00/',
    }),
    ['', 'The URL must be an http or https URL.'] as const,
    ...[
      'https://hooks.example.com/\r\nHost: evil',
      'https://hooks.example.com/a\tb',
      ' https://hooks.example.com/',
      'https://hooks.example.com/%0d%0aX: y',
      'https://hooks.example.com/?a=%0A',
      'https://hooks.example.com/\u0000',
    ].map((url) => [url, 'The URL must have no white space and no line breaks.'] as const),
  ])('is not %j', async (url, expected) => {
    for (const policy of [PUBLIC, ANYWHERE]) expect(await fault(url, policy, '93.184.216.34')).toBe(expected);
  });

  it.each([
    ['http://hooks.example.com/', 'The URL must be an https URL.'],
    ['ftp://hooks.example.com/', 'The URL must be an https URL.'],
    ['https://hooks.example.com/', undefined],
  ])('may have to be https: %s', async (url, expected) => {
    expect(await fault(url, { allowPrivate: false, httpsOnly: true }, '93.184.216.34')).toBe(expected);
  });

  it('is checked by every address of a family', () => {
    expect(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '2a00:1450:4001::1'].map(isGlobal)).not.toContain(false);
  });
});
