import { gzipSync } from 'node:zlib';
import { Installation } from '../support/installation.js';
import { flood } from './support/flood.js';
import { metered } from './support/meter.js';

const MIB = 1_048_576;
const MAX_CPU_MS = 100;
/** For the short form, which runs beside other work and must still notice if each chunk is kept. */
const MAX_CPU_SHORT_MS = 800;
const MAX_GROWTH_MIB = 64;
/** Maximum amount that the sockets of both sides may hold when the server closes early. Unit: bytes. */
const MAX_TAKEN = 32 * MIB;

const JSON_TYPE = 'Content-Type: application/json\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const NDJSON_TYPE = 'Content-Type: application/x-ndjson\r\n';
const ONE_BYTE = Buffer.from('1\r\n \r\n'.repeat(10_000));
const LARGE = Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`);

/** Bodies that nobody sends in good faith: each gets a 4xx and must cost little. */
export default async function bodies({ short, begin }) {
  const installation = new Installation();
  const service = await installation.startService('off');
  const figures = {};
  const failures = [];
  const maxCpuMs = short ? MAX_CPU_SHORT_MS : MAX_CPU_MS;
  try {
    for (const [name, { count = 1, ...hostile }] of Object.entries(hostileBodies(short))) {
      begin(name);
      const send = (times) =>
        Promise.all(Array.from({ length: times }, () => flood(installation.url, hostile)));
      // Once in advance, so that compiling the code for it is not measured.
      await send(1);
      const { result, cpuMs, grownMiB } = await metered(service, () => send(count));
      const statuses = [...new Set(result.map(({ status }) => status))].join(', ');
      const taken = Math.max(...result.map(({ sent }) => sent));
      figures[name] =
        `${statuses}; ${(cpuMs / count).toFixed(0)} ms of CPU each, +${grownMiB.toFixed(0)} MiB in all, ` +
        `${(taken / MIB).toFixed(1)} MiB taken`;
      if (result.some(({ status }) => !(status >= 400 && status < 500)))
        failures.push(`${name}: not a 4xx, but ${statuses}`);
      if (cpuMs / count > maxCpuMs) failures.push(`${name}: more than ${maxCpuMs} ms of CPU`);
      if (grownMiB > MAX_GROWTH_MIB) failures.push(`${name}: more than ${MAX_GROWTH_MIB} MiB`);
      if (taken > MAX_TAKEN) failures.push(`${name}: more than ${MAX_TAKEN / MIB} MiB are read`);
    }
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

function hostileBodies(short) {
  const many = short ? 3 : 10;
  const endless = { part: LARGE, bytes: (short ? 64 : 1_024) * MIB, end: '0\r\n\r\n' };
  return {
    'one-byte chunks': { ...chunksTo('POST /todos', JSON_TYPE), count: many },
    'one-byte chunks of an import': { ...chunksTo('POST /todos/import', NDJSON_TYPE), count: many },
    'one-byte chunks to a path that takes no body': { ...chunksTo('POST /nothing'), count: many },
    'an endless body': { head: headOf('POST /todos', CHUNKED + JSON_TYPE), ...endless },
    'an endless body of another type': { head: headOf('POST /todos', CHUNKED), ...endless },
    'an endless body to a path that does not exist': { head: headOf('POST /nothing', CHUNKED), ...endless },
    'an endless body to a method that a path does not have': {
      head: headOf('DELETE /todos/count', CHUNKED),
      ...endless,
    },
    'an endless body of a read that fails': { head: headOf('GET /todos/7', CHUNKED), ...endless },
    'an endless line of an import without a token': {
      head: headOf('POST /posts/api', CHUNKED + NDJSON_TYPE),
      ...endless,
    },
    'a gzip bomb': whole(gzipSync(Buffer.alloc(512 * MIB, ' ')), 'Content-Encoding: gzip\r\n'),
    '100,000 nested brackets': whole(Buffer.from(`{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)),
    '400,000 numbers': whole(Buffer.from(`{"title":[${'1,'.repeat(400_000)}1]}`)),
    '60,000 unknown fields': whole(
      Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`f${i}`, 1])))),
    ),
  };
}

/** 6 MB of chunks of one byte each. */
function chunksTo(target, headers = JSON_TYPE) {
  return { head: headOf(target, CHUNKED + headers), part: ONE_BYTE, bytes: 6_000_000, end: '0\r\n\r\n' };
}

function whole(body, headers = '') {
  const length = `Content-Length: ${body.length}\r\n`;
  return { head: headOf('POST /todos', JSON_TYPE + headers + length), part: body, bytes: body.length };
}

function headOf(target, headers) {
  return `${target} HTTP/1.1\r\nHost: drill\r\n${headers}\r\n`;
}
