/**
 * Compares what the packages of the generator export, with the members of each, with `api.txt`, so that a change of the public
 * surface is seen in its review. `--write` writes the file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import ts from 'typescript';
import { fail, readArguments } from './support/arguments.js';

const FILE = 'api.txt';
const DOORS = {
  'nestjs-mongo-crud': 'src/index.ts',
  'nestjs-mongo-crud/notifications': 'src/common/notifications/index.ts',
  'nestjs-mongo-crud/testing': 'src/common/crud/testing/index.ts',
  'nestjs-mongo-crud-embedded': 'libs/embedded-mongodb/src/index.ts',
};

const usage = 'Usage: node scripts/check-surface.js [--write]';
const { values } = readArguments(usage, { write: { type: 'boolean' } });
const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');
const program = ts.createProgram(Object.values(DOORS), options);
const checker = program.getTypeChecker();
const report = Object.entries(DOORS).map(([door, file]) => {
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)));
  return `${door}\n${exported
    .map((symbol) => `  ${describe(symbol)}\n`)
    .sort()
    .join('')}`;
});
const text = report.join('\n');
if (values.write) writeFileSync(FILE, text);
else if (text !== readFileSync(FILE, 'utf8')) {
  const known = new Set(readFileSync(FILE, 'utf8').split('\n'));
  const added = text.split('\n').filter((line) => !known.has(line));
  fail(
    `${FILE} is not what the packages export; node scripts/check-surface.js --write updates it.\n${added.join('\n')}`,
  );
}

/** A class by its members, static ones as well, and an interface by its own; a function and a type by their text. */
function describe(found) {
  const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
  const { name } = found;
  const [declaration] = symbol.declarations;
  if (symbol.flags & ts.SymbolFlags.Class)
    return `class ${name} { ${[...membersOf(symbol.exports), ...membersOf(symbol.members)].join(', ')} }`;
  if (symbol.flags & ts.SymbolFlags.Interface)
    return `interface ${name} { ${membersOf(symbol.members).join(', ')} }`;
  if (symbol.flags & ts.SymbolFlags.TypeAlias)
    return declaration
      .getText()
      .replaceAll(/^export |\/\*.*?\*\//gs, '')
      .replaceAll(/\s+/g, ' ');
  return `${name}: ${checker.typeToString(checker.getTypeOfSymbol(symbol), undefined, ts.TypeFormatFlags.NoTruncation)}`;
}

function membersOf(members = new Map()) {
  return [...members.values()]
    .filter(({ declarations = [], name }) => {
      const [declaration] = declarations;
      const flags = declaration ? ts.getCombinedModifierFlags(declaration) : 0;
      return (
        name !== 'prototype' &&
        !name.startsWith('#') &&
        !(flags & ts.ModifierFlags.Private) &&
        declaration?.kind !== ts.SyntaxKind.TypeParameter
      );
    })
    .map(({ name, flags, declarations: [declaration] }) => {
      const isStatic = ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Static;
      return `${isStatic ? 'static ' : ''}${name.replace('__constructor', 'constructor')}${flags & ts.SymbolFlags.Optional ? '?' : ''}`;
    });
}
