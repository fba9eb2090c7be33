/**
 * Compares the size of the project with the budgets in budgets.json, and fails if one is exceeded. A budget is
 * raised only with a decision in docs/adr.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const measured = {
  'files of src': filesOf('src', '.ts').length,
  'lines of src': linesOf(filesOf('src', '.ts')),
  'names that the generator exports': namesOf('src/common/crud/index.ts'),
  'names that the package exports': namesOf('src/index.ts'),
  'private seams': readFileSync('docs/architecture.md', 'utf8')
    .split('## Seams')[1]
    .match(/^\| \[/gm).length,
  'lines of test': linesOf([...filesOf('test', '.ts'), ...filesOf('test', '.js')]),
  'lines of scripts and tools': linesOf([...filesOf('scripts', '.js'), ...filesOf('tools', '.js')]),
  'npm scripts': Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).scripts).length,
  'words of docs': wordsOf([...filesOf('docs', '.md'), 'README.md', 'CONTRIBUTING.md']),
  'words of README.md': wordsOf(['README.md']),
};

const budgets = JSON.parse(readFileSync('budgets.json', 'utf8'));
const exceeded = Object.entries(measured).filter(([name, count]) => !(count <= budgets[name]));
for (const [name, count] of exceeded) console.error(`${count} ${name}, and the budget is ${budgets[name]}.`);
if (exceeded.length > 0) process.exitCode = 1;

function filesOf(folder, ending) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(ending) && !/(^|\/)(node_modules|dist)\//.test(name))
    .map((name) => join(folder, name));
}

function linesOf(files) {
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
}

function wordsOf(files) {
  return files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split(/\s+/).filter(Boolean).length, 0);
}

/** Number of names that a module exports, those of types included. */
function namesOf(file) {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile('tsconfig.json', ts.sys.readFile).config,
    ts.sys,
    '.',
  );
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  return checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file))).length;
}
