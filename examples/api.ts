import type { ApiDescription } from '../src/app.setup.js';
import { describeWebhooks } from '../src/common/notifications/index.js';

/** Texts of the explorer about the examples. */
export const EXAMPLES_API: ApiDescription = {
  title: 'Examples',
  webhooks: describeWebhooks,
  description: 'Thirteen examples made by CrudModule. `npm run examples` prints tokens to try them with.',
  tags: {
    Products: 'Variants as a list of objects, prices as decimals, a reference',
    Categories: 'A tree, with a route that moves a branch',
    'Articles and comments': 'Comments below their article',
    Users: 'Passwords, roles, different bodies for sign-up and profile',
    Todos: 'Of one person only',
    Orders: 'A computed total, and a status that moves by rules',
    Events: 'Plain class-validator decorators, and a map',
    Ledger: 'A transfer changes two accounts, or none',
    Bookings: 'No two of a room overlap',
    'Price rules': 'A new order, all at once',
    Profile: 'One record of each person, without an identifier',
    Expenses: 'Sums by month, and a purge of archived records',
    Invoices: 'Made by the service itself when an order is paid',
  },
};
