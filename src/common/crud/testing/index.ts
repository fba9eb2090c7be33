export {
  createCrudTestingModule,
  type CrudTestingModule,
  type CrudTestingOptions,
} from './create-crud-testing-module.js';
export {
  type CrudContractBody,
  type CrudContractOptions,
  describeCrudContract,
  type Json,
} from './describe-crud-contract.js';
