import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'acorn';
import { transformSync } from 'esbuild';

/**
 * Finishes the text of a bundle: `node scripts/bundle/finish.js main`. Removes the calls that name functions inside functions:
 * these already have the names of their variables, and functions on the path of every request would be named again each time.
 * Classes and a module's own functions keep the calls. A script has no `import()` of its own and uses that of its launcher.
 */
const [name] = process.argv.slice(2);
const file = `dist/bundle/${name}.cjs`;
const OPTIONS = { target: 'node20', minifyWhitespace: true, lineLimit: 140, charset: 'ascii' };

/** esbuild's function that sets another function's name. */
const NAMING = '__name';

const code = readFileSync(file, 'utf8');
writeFileSync(file, transformSync(edited(code), OPTIONS).code);

function edited(code) {
  const edits = [];
  const syntax = { ecmaVersion: 'latest', sourceType: 'script', preserveParens: true };
  visit(parse(code, syntax), undefined, edits);
  edits.sort(([one], [other]) => one - other);
  const starts = [0, ...edits.map(([, to]) => to)];
  const ends = [...edits.map(([from]) => from), code.length];
  const texts = [...edits.map(([, , text = '']) => text), ''];
  return starts.map((start, n) => code.slice(start, ends[n]) + texts[n]).join('');
}

/** Collects the edits for a node of the syntax tree (https://github.com/estree/estree) and all nodes below it. */
function visit(node, parent, edits) {
  edits.push(...editsOf(node, parent));
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string') visit(child, node, edits);
    }
  }
}

/**
 * The edits for a call: removes `__name(<function>, "name")` or the statement `__name(name, "name");`, and replaces `import`.
 */
function editsOf(node, parent) {
  if (node.type === 'ImportExpression') return [[node.start, node.start + 'import'.length, 'importModule']];
  if (node.type !== 'CallExpression' || node.callee.name !== NAMING) return [];
  const [named, name] = node.arguments;
  if (/^(Arrow)?FunctionExpression$/.test(named.type)) {
    return [
      [node.start, node.start + NAMING.length],
      [named.end, node.end - 1],
    ];
  }
  const same = named.type === 'Identifier' && named.name === name.value;
  return same && parent.type === 'ExpressionStatement' ? [[node.start, node.end]] : [];
}
