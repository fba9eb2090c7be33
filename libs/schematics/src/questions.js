import { createInterface } from 'node:readline/promises';
import { typesOf } from './fields.js';
import { contentsOf, newNamesOf, resourcesOf } from './resource.js';

const ISOLATION = `Who reads and writes the records?
  public   everybody
  tenant   callers of the same tenant
  events   the same, and their subscribers are told of each write
public, tenant or events`;

/**
 * Asks in the terminal for what the command line leaves out: the name, the fields, and whose the records are. An answer that is
 * invalid is asked for again, after a sentence that says why.
 *
 * @param given `name`, `fields`, and the options of {@link newResource}
 * @returns the same, with nothing left out
 * @throws Error if the terminal is closed before the last answer
 */
export async function askForRest(given, { appModule, exists }) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const lines = terminal[Symbol.asyncIterator]();
  const ask = async (question, accept) => {
    for (;;) {
      terminal.setPrompt(`${question}: `);
      terminal.prompt();
      const { value, done } = await lines.next();
      if (done) throw new Error('\nNothing was written.');
      try {
        return accept(value.trim());
      } catch (error) {
        console.log(error.message);
      }
    }
  };
  try {
    let { name, fields } = given;
    const known = (plural) => newNamesOf(plural, appModule).plural;
    name = name === undefined ? await ask('Name of the resource, such as comments', known) : known(name);
    if (fields.length === 0) fields = await askForFields(ask, name, resourcesOf(appModule, exists));
    const isOpen = !given.public && !given.tenant && !given.events;
    return { ...given, name, fields, ...(isOpen && (await ask(ISOLATION, isolationOf))) };
  } finally {
    terminal.close();
  }
}

async function askForFields(ask, plural, resources) {
  const fields = [];
  const known = (field) => {
    contentsOf(plural, [...fields, field], resources);
    return field;
  };
  for (;;) {
    const isFirst = fields.length === 0;
    let field = await ask(
      isFirst ? 'First field, such as title, or address.city in a nested object' : 'Next field, or Enter',
      (answer) => (answer === '' && !isFirst ? '' : known(answer)),
    );
    if (field === '') return fields;
    // It may also be written as on the command line, such as title:text!
    if (!/[:!?]/.test(field))
      field = await ask(`Its type: ${typesOf([...resources.keys()])}`, (answer) =>
        known(`${field}:${answer}`),
      );
    if (!/[!?]$/.test(field)) field += await ask('Does a create require it? y or n', markOf);
    fields.push(field);
  }
}

function markOf(answer) {
  if (answer === 'y') return '!';
  if (answer === 'n') return '?';
  throw new Error('Answer y or n.');
}

function isolationOf(answer) {
  if (['public', 'tenant', 'events'].includes(answer)) return { [answer]: true };
  throw new Error('Answer public, tenant or events.');
}
