import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** State of a listening socket in Linux's tables. */
const LISTENS = '0A';

/** The TCP ports that a process listens on, by what Linux says of its sockets. */
export function listeningPorts(pid: number): number[] {
  const sockets = new Set(openFiles(pid).map((file) => /^socket:\[(\d+)\]$/.exec(file)?.[1]));
  return ['tcp', 'tcp6'].flatMap((table) => {
    const [, ...rows] = readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n');
    return rows.flatMap((row) => {
      const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/);
      return state === LISTENS && sockets.has(inode) ? [parseInt(local.split(':')[1] ?? '', 16)] : [];
    });
  });
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)];
    } catch {
      // It has been closed meanwhile.
      return [];
    }
  });
}
