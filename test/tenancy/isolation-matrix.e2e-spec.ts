import { describeIsolation } from '../support/describe-isolation.js';

describe('the service keeps tenants apart', () => describeIsolation('the service'));
