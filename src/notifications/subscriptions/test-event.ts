import type { Types } from 'mongoose';
import { TEST_EVENT_TYPE } from '../event-types.js';
import type { NewEvent } from '../log/event-log.js';

/** Used in place of a tenant, which has 24 digits, so that the event is in no tenant's stream. */
const NO_TENANT = 'none';

/** Identifier of the test event that a request makes, from its own number. */
export function testEventId(id: Types.ObjectId): string {
  return `evt_${id.toHexString()}`;
}

/** The test event of a subscription. */
export function testEvent(id: Types.ObjectId, at = new Date()): NewEvent {
  const data = { message: 'This is a test of your webhook.' };
  const body = JSON.stringify({ type: TEST_EVENT_TYPE, timestamp: at.toISOString(), data });
  return { _id: testEventId(id), tenant: NO_TENANT, type: TEST_EVENT_TYPE, at, body };
}
