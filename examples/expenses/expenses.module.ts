import { Injectable, Module, Query } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { Matches } from 'class-validator';
import {
  conditionOf,
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  listOf,
} from '../../src/common/crud/index.js';
import { IsIdentifier, IsText, IsTimestamp, IsWholeNumber } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';

class ExpenseInput {
  @IsText({ max: 80, example: 'Train' }) title!: string;
  @IsWholeNumber({ min: 1, max: 10_000_000, example: 4_900, description: 'In cents' }) amount!: number;
  @IsTimestamp({ example: '2026-12-31T12:00:00.000Z' }) paidAt!: Date;
}

@Schema({ timestamps: true })
class Expense extends ExpenseInput {
  @IsIdentifier() tenant!: string;
  @IsText({ max: 7, example: '2026-12', description: 'Month of the payment, UTC' }) month!: string;
  @IsTimestamp({ optional: true }) deletedAt?: Date;
}

const MONTH = /^\d{4}-\d\d$/;
const monthOf = ({ paidAt }: Partial<Expense>) => paidAt?.toISOString().slice(0, 7) ?? '';

const expenses = crudOptions({
  entity: Expense,
  input: ExpenseInput,
  name: 'expenses',
  tag: 'Expenses',
  isolationFields: { all: { tenant: currentTenant } },
  archive: { field: 'deletedAt' },
  query: { filter: ['month'], sort: ['paidAt'] },
  hooks: {
    beforeCreate: ({ record }) => void (record.month = monthOf(record)),
    beforeUpdate: ({ record }) => void (record.month = monthOf(record)),
  },
});

class MonthlySum {
  @IsText({ max: 7, example: '2026-12' }) month!: string;
  @IsWholeNumber({ min: 0, example: 4_900 }) amount!: number;
  @IsWholeNumber({ min: 1, example: 1 }) expenses!: number;
}

class Period {
  @Matches(MONTH) @IsText({ max: 7, optional: true, example: '2026-01' }) from?: string;
  @Matches(MONTH) @IsText({ max: 7, optional: true, example: '2026-12' }) until?: string;
}

class Age {
  @IsWholeNumber({ min: 0, max: 36_500, example: 90, description: 'Days since they were archived' }) days =
    90;
}

class Purged {
  @IsWholeNumber({ min: 0, example: 3 }) purged!: number;
}

@Injectable()
class ExpensesService extends CrudService.for(expenses) {
  sums(scope: TenantScope, { from, until }: Period): Promise<MonthlySum[]> {
    const group = { _id: '$month', amount: { $sum: '$amount' }, expenses: { $sum: 1 } };
    const months = [{ $gte: from ?? '0000' }, { $lte: until ?? '9999-12' }];
    return this.aggregate<MonthlySum>(scope, [
      { $match: { $and: months.map((month) => ({ month })) } },
      { $group: group },
      { $sort: { _id: 1 } },
      { $project: { _id: 0, month: '$_id', amount: 1, expenses: 1 } },
    ]);
  }

  async purgeArchived(scope: TenantScope, days: number): Promise<Purged> {
    const before = new Date(Date.now() - days * 86_400_000);
    const and = [conditionOf(expenses, 'deletedAt', 'lte', before)];
    let purged = 0;
    for await (const { _id } of this.list(scope, { archived: 'only', fields: [] }, { and })) {
      await this.purge(scope, _id);
      purged += 1;
    }
    return { purged };
  }
}

class ExpensesController extends CrudController(expenses, ExpensesService) {
  @CrudAction(expenses, {
    method: 'GET',
    path: 'sums',
    query: Period,
    isolatedAs: 'get',
    response: listOf(MonthlySum),
    summary: 'Sum by month',
    errors: ['QUERY_TOO_SLOW'],
  })
  sums(@CurrentScope() scope: TenantScope, @Query() period: Period) {
    return this.service.sums(scope, period);
  }

  @CrudAction(expenses, {
    method: 'DELETE',
    path: 'archived',
    query: Age,
    isolatedAs: 'del',
    response: Purged,
    summary: 'Remove for good what was archived long ago',
    errors: ['WRITE_CONFLICT'],
  })
  purge(@CurrentScope() scope: TenantScope, @Query() { days }: Age) {
    return this.service.purgeArchived(scope, days);
  }
}

@Module({
  imports: [CrudModule.forFeature(expenses, { controller: ExpensesController, service: ExpensesService })],
})
export class ExpensesModule {}
