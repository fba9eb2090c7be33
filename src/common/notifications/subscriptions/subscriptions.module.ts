import { type DynamicModule, Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { CrudModule } from '../../crud/index.js';
import { CRUD_CONNECTION } from '../../database/index.js';
import { DeliveriesController } from '../deliveries/deliveries.controller.js';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { deliveriesCrud, DeliveriesService } from '../deliveries/deliveries.service.js';
import { EventLogModule } from '../log/event-log.js';
import { SUBSCRIPTION_SLOTS } from './subscription.schema.js';
import { SubscriptionsController } from './subscriptions.controller.js';
import { subscriptionsCrud } from './subscriptions.crud.js';
import { SubscriptionsService, TARGET_CHECK, type TargetCheck } from './subscriptions.service.js';

/** The API of subscriptions and their deliveries. */
@Module({})
export class SubscriptionsModule {
  static forRoot({ checkTarget }: { checkTarget: TargetCheck }): DynamicModule {
    const deliveries = CrudModule.forFeature(deliveriesCrud, {
      controller: DeliveriesController,
      service: DeliveriesService,
      imports: [DeliveriesModule],
    });
    const subscriptions = CrudModule.forFeature(subscriptionsCrud, {
      controller: SubscriptionsController,
      service: SubscriptionsService,
      providers: [{ provide: TARGET_CHECK, useValue: checkTarget }],
      imports: [deliveries, EventLogModule, MongooseModule.forFeature([SUBSCRIPTION_SLOTS], CRUD_CONNECTION)],
    });
    return { module: SubscriptionsModule, imports: [subscriptions, deliveries] };
  }
}
