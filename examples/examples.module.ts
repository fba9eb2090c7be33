import { type DynamicModule, Module } from '@nestjs/common';
import { CrudModule } from '../src/common/crud/index.js';
import type { DatabaseServer } from '../src/common/database/index.js';
import { NotificationsModule } from '../src/common/notifications/index.js';
import { type Environment, rootOptionsOf } from '../src/config/index.js';
import { BookingsModule } from './bookings/bookings.module.js';
import { CategoriesModule } from './categories/index.js';
import { CommentsModule } from './comments/comments.module.js';
import { EventsModule } from './events/events.module.js';
import { ExpensesModule } from './expenses/expenses.module.js';
import { InvoicesModule } from './invoices/invoices.module.js';
import { LedgerModule } from './ledger/ledger.module.js';
import { OrdersModule } from './orders/index.js';
import { PriceRulesModule } from './price-rules/price-rules.module.js';
import { ProductsModule } from './products/index.js';
import { ProfileModule } from './profile/profile.module.js';
import { TodosModule } from './todos/todos.module.js';
import { UsersModule } from './users/users.module.js';

/** The examples in one service. */
@Module({})
export class ExamplesModule {
  static forRoot(environment: Environment, database: DatabaseServer): DynamicModule {
    return {
      module: ExamplesModule,
      imports: [
        CrudModule.forRoot(rootOptionsOf(environment, database)),
        ProductsModule,
        CategoriesModule,
        CommentsModule,
        UsersModule,
        TodosModule,
        OrdersModule,
        EventsModule,
        InvoicesModule,
        LedgerModule,
        BookingsModule,
        PriceRulesModule,
        ProfileModule,
        ExpensesModule,
        NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
      ],
    };
  }
}
