export * from './create-crud-testing-module.js';
export * from './describe-crud-contract.js';
