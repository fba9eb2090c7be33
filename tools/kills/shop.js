import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { AppModule } from '../../dist/app.module.js';
import { createApp } from '../../dist/app.setup.js';
import { WorkerModule, WorkerPortModule } from '../../dist/app.worker.js';
import { CrudModule } from '../../dist/common/crud/index.js';
import { IsReference, IsText } from '../../dist/common/fields/index.js';
import { currentTenant } from '../../dist/common/tenancy/index.js';
import { start } from '../../dist/start.js';

/** The service, with orders and the lines that go with them: as the API, or as a worker by the argument `worker`. */
class OrderInput {
  title;
}
IsText({ min: 1, max: 100 })(OrderInput.prototype, 'title');
class Order extends OrderInput {}
Prop({ type: Types.ObjectId })(Order.prototype, 'tenant');
Schema({ timestamps: true })(Order);

class LineInput {
  order;
}
IsReference(() => Order)(LineInput.prototype, 'order');
class Line extends LineInput {}
Prop({ type: Types.ObjectId })(Line.prototype, 'tenant');
Schema({ timestamps: true })(Line);

const isolationFields = { all: { tenant: currentTenant } };
const features = [
  CrudModule.forFeature({ entity: Order, input: OrderInput, name: 'orders', isolationFields, events: true }),
  CrudModule.forFeature({
    entity: Line,
    input: LineInput,
    name: 'lines',
    isolationFields,
    references: { order: { to: Order, check: 'sameScope', onDelete: 'cascade' } },
    events: { data: 'id' },
  }),
];

const withShop = (root) => ({ ...root, imports: [...root.imports, ...features] });

if (process.argv[2] === 'worker') {
  await start({ portVariable: 'WORKER_PORT', verifiesTokens: false }, async (environment, database) => {
    const root = withShop(WorkerModule.forRoot(environment, database));
    const worker = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
    const ofPort = WorkerPortModule.forRoot(worker, environment);
    const app = await createApp(ofPort, { ...environment, docs: 'off' });
    await app.listen(environment.workerPort, environment.host);
  });
} else {
  await start({ portVariable: 'PORT' }, async (environment, database) => {
    const app = await createApp(withShop(AppModule.forRoot(environment, database)), environment);
    await app.listen(environment.port, environment.host);
  });
}
