import { crudOptions } from '../../common/crud/index.js';
import { currentTenant } from '../../common/tenancy/index.js';
import { Subscription } from '../subscriptions/subscription.schema.js';
import { Delivery, DeliveryView, NewDeliveryInput } from './delivery.entity.js';

/** The deliveries of a subscription. Their tenant may read them; only the queue writes them. */
export const deliveriesCrud = crudOptions({
  entity: Delivery,
  input: NewDeliveryInput,
  output: DeliveryView,
  name: 'deliveries',
  path: 'subscriptions/:subscriptionId/deliveries',
  tag: 'Notifications',
  parent: { entity: Subscription, param: 'subscriptionId', field: 'subscription' },
  disable: ['create', 'update', 'del'],
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['_id', 'event', 'type', 'status'] },
});
