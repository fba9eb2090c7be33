import { readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Installation } from '../support/installation.js';
import { statusOf } from '../support/usage.js';
import { MixedLoad } from './support/mixed-load.js';

const MAX_SLOPE_MIB = 1;
/** Period that the reported slope refers to. Unit: milliseconds. */
const SLOPE_MS = 600_000;
/** Steps must be short, so that a hanging one is reported. Unit: milliseconds. */
const STEP_MS = 180_000;
/** Handles come and go with connections: up to this many more do not count as growth. */
const MAX_MORE_HANDLES = 5;

/**
 * An hour of everything that clients do, by a thousand tenants: memory and handles must not grow. Initial
 * needs of a process, such as compiled code and filled caches, are not counted. The short form only checks
 * that every answer is as expected.
 */
export default async function soak({ short, begin }) {
  const [warmUpMs, ms, sampleMs] = short ? [2_000, 10_000, 500] : [900_000, 3_600_000, 5_000];
  const installation = new Installation();
  const failures = [];
  let figures;
  let load;
  try {
    const service = await installation.startService('inline');
    load = new MixedLoad(installation);
    const begun = performance.now();
    const samples = [];
    const steps = Math.ceil((warmUpMs + ms) / STEP_MS);
    for (let step = 1; step <= steps; step++) {
      begin(`part ${step} of ${steps}`);
      const end = begun + ((warmUpMs + ms) * step) / steps;
      while (performance.now() < end) {
        const at = performance.now() - begun - warmUpMs;
        if (at >= 0) samples.push({ at, ...takenBy(service) });
        await pause(sampleMs);
      }
    }
    begin('end');
    await load.stop();
    const floors = floorsOf(samples, ms / 30);
    const slope = slopeOf(floors.map(({ at, memory }) => [at / SLOPE_MS, memory]));
    const handles = [floors.slice(0, 5), floors.slice(-5)].map((some) =>
      Math.min(...some.map((floor) => floor.handles)),
    );
    const [first, last] = [floors[0], floors.at(-1)].map(({ memory }) => memory.toFixed(0));
    figures = {
      requests: load.toString(),
      memory: `${slope.toFixed(2)} MiB in 10 minutes; ${first} MiB at first, ${last} MiB at last`,
      handles: `${handles[0]} at first, ${handles[1]} at last`,
    };
    if (load.odd.size > 0) failures.push(`not answered as expected: ${load.toldOdd}`);
    if (!short && slope > MAX_SLOPE_MIB)
      failures.push(`memory grows by more than ${MAX_SLOPE_MIB} MiB in 10 minutes`);
    if (!short && handles[1] > handles[0] + MAX_MORE_HANDLES)
      failures.push('there are more and more handles');
  } finally {
    await load?.stop();
    await installation.remove();
  }
  return { figures, failures };
}

/**
 * Private memory: mapped pages of files, such as those of the embedded database, belong to the system. Unit:
 * MiB.
 */
function takenBy({ pid }) {
  return { memory: statusOf(pid, 'RssAnon'), handles: readdirSync(`/proc/${pid}/fd`).length };
}

/** The minimum of each period: between two garbage collections, memory rises without significance. */
function floorsOf(samples, stretchMs) {
  const stretches = [];
  for (const sample of samples) (stretches[Math.floor(sample.at / stretchMs)] ??= []).push(sample);
  // A busy machine may have left one out.
  return Object.values(stretches).map((some) => ({
    at: some[0].at,
    memory: Math.min(...some.map(({ memory }) => memory)),
    handles: Math.min(...some.map(({ handles }) => handles)),
  }));
}

/** Slope of the straight line that fits the points best (least squares). */
function slopeOf(points) {
  const [x, y] = [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length);
  const above = points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0);
  const below = points.reduce((sum, [px]) => sum + (px - x) ** 2, 0);
  return above / below;
}
