import { Body, ConflictException, Injectable, Module, Param } from '@nestjs/common';
import {
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
} from '../../src/common/crud/index.js';
import { IsWholeNumber } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';
import { Account, AccountInput, Transfer, TransferInput } from './ledger.js';

const accounts = crudOptions({
  entity: Account,
  input: AccountInput,
  name: 'accounts',
  tag: 'Ledger',
  disable: ['del'],
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['name', 'balance'], sort: ['name'] },
});

@Injectable()
export class AccountsService extends CrudService.for(accounts) {
  /** Adds cents to an account. @throws ConflictException if it has too few */
  async add(scope: TenantScope, id: string, cents: number) {
    const { balance } = await this.get(scope, id);
    if (balance + cents < 0) throw new ConflictException(`The account has ${balance} cents.`);
    return this.change('update', scope, id, { set: { balance: balance + cents } }, { where: { balance } });
  }
}

class Deposit {
  @IsWholeNumber({ min: 1, example: 1_000 }) cents!: number;
}

class AccountsController extends CrudController(accounts, AccountsService) {
  @CrudAction(accounts, {
    method: 'POST',
    path: ':id/deposit',
    body: Deposit,
    isolatedAs: 'update',
    status: 200,
  })
  deposit(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() { cents }: Deposit) {
    return this.service.add(scope, id, cents);
  }
}

export const transfers = crudOptions({
  entity: Transfer,
  input: TransferInput,
  name: 'transfers',
  tag: 'Ledger',
  disable: ['update', 'del'],
  isolationFields: { all: { tenant: currentTenant } },
  references: {
    from: { to: Account, check: 'sameScope' },
    to: { to: Account, check: 'sameScope' },
  },
  routes: { create: { errors: [409] } },
});

/** A transfer and both of its accounts change at once, or not at all. */
@Injectable()
export class TransfersService extends CrudService.for(transfers) {
  constructor(private readonly accounts: AccountsService) {
    super();
  }

  override create(scope: TenantScope, input: TransferInput) {
    return this.atomically(scope, async (work) => {
      const transfer = await super.create(work, input);
      await this.accounts.add(work, input.from, -input.amount);
      await this.accounts.add(work, input.to, input.amount);
      return transfer;
    });
  }
}

const accountsModule = CrudModule.forFeature(accounts, {
  controller: AccountsController,
  service: AccountsService,
});

@Module({
  imports: [
    accountsModule,
    CrudModule.forFeature(transfers, { service: TransfersService, imports: [accountsModule] }),
  ],
})
export class LedgerModule {}
