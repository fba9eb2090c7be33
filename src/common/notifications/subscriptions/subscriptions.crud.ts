import { crudOptions } from '../../crud/index.js';
import { currentTenant } from '../../tenancy/index.js';
import { Subscription, SubscriptionChanges, SubscriptionInput } from './subscription.schema.js';

/** Subscriptions: every action is limited to the caller's tenant, and the secret is shown once. */
export const subscriptionsCrud = crudOptions({
  entity: Subscription,
  input: { create: SubscriptionInput, update: SubscriptionChanges },
  name: 'subscriptions',
  tag: 'Notifications',
  isolationFields: { all: { tenant: currentTenant } },
  query: {
    filter: ['_id', 'url', 'events', 'enabled', 'createdAt', 'updatedAt'],
    sort: ['-createdAt', '-updatedAt'],
  },
  routes: { create: { unkept: ['secret'], errors: ['TOO_MANY_SUBSCRIPTIONS'] } },
});
