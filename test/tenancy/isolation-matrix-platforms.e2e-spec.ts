/** @slow */
import { describeIsolation } from '../support/describe-isolation.js';

describe.each(['Express', 'Fastify'] as const)('%s keeps tenants apart', describeIsolation);
