export {
  createCrudTestingModule,
  type CrudTestingModule,
  type CrudTestingOptions,
} from './create-crud-testing-module.js';
export type { Json } from './crud-client.js';
export {
  type CrudContractBody,
  type CrudContractOptions,
  describeCrudContract,
} from './describe-crud-contract.js';
