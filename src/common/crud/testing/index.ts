export {
  createCrudTestingModule,
  type CrudTestingModule,
  type CrudTestingOptions,
  type Json,
} from './create-crud-testing-module.js';
export {
  type CrudContractBody,
  type CrudContractOptions,
  describeCrudContract,
} from './describe-crud-contract.js';
