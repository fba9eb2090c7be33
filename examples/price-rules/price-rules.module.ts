import { Body, Injectable, Module } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import {
  CrudAction,
  CrudController,
  CrudModule,
  UpdatedResult,
  crudOptions,
  CrudService,
} from '../../src/common/crud/index.js';
import { IsIdentifier, IsListOf, IsText, IsTimestamp, IsWholeNumber } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';

class PriceRuleInput {
  @IsText({ max: 80, example: 'Early bird' }) name!: string;
  @IsWholeNumber({ min: -100, max: 100, example: -10 }) percent!: number;
}

class SeasonalInput extends PriceRuleInput {
  @IsTimestamp({ example: '2027-06-01T00:00:00.000Z' }) from!: Date;
  @IsTimestamp({ example: '2027-09-01T00:00:00.000Z' }) until!: Date;
}

class WeekdayInput extends PriceRuleInput {
  @IsListOf(IsWholeNumber({ min: 1, max: 7, example: 6 }), { min: 1, max: 7, unique: true }) days!: number[];
}

@Schema({ timestamps: true })
class PriceRule extends PriceRuleInput {
  @IsIdentifier() tenant!: string;
  @IsWholeNumber({ default: 0, description: 'Place among the rules of the tenant' }) position!: number;
}

const priceRules = crudOptions({
  entity: PriceRule,
  input: PriceRuleInput,
  kinds: { seasonal: SeasonalInput, weekday: WeekdayInput },
  name: 'price-rules',
  tag: 'Price rules',
  isolationFields: { all: { tenant: currentTenant } },
  query: { sort: ['position'] },
});

@Injectable()
class PriceRulesService extends CrudService.for(priceRules) {
  /** Puts rules into an order, all of them or none. @throws RecordNotFoundError if one is not there */
  reorder(scope: TenantScope, ids: readonly string[]) {
    return this.atomically(scope, async (work) => {
      for (const [position, id] of ids.entries()) {
        await this.get(work, id);
        await this.change('update', work, id, { set: { position } });
      }
      return { updated: true };
    });
  }
}

class NewOrder {
  @IsListOf(IsIdentifier(), { min: 1, max: 100, unique: true }) rules!: string[];
}

class PriceRulesController extends CrudController(priceRules, PriceRulesService) {
  @CrudAction(priceRules, {
    method: 'PUT',
    path: 'order',
    body: NewOrder,
    isolatedAs: 'update',
    status: 200,
    response: UpdatedResult,
    errors: ['RECORD_NOT_FOUND'],
  })
  reorder(@CurrentScope() scope: TenantScope, @Body() { rules }: NewOrder) {
    return this.service.reorder(scope, rules);
  }
}

@Module({
  imports: [
    CrudModule.forFeature(priceRules, { controller: PriceRulesController, service: PriceRulesService }),
  ],
})
export class PriceRulesModule {}
