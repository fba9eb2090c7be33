/**
 * The names of a resource, derived from its name: `blog-posts` gives `BlogPost`, `BlogPostsModule` and
 * `blog-post`.
 */
export function namesOf(plural) {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(plural ?? ''))
    throw new Error(
      'The name of a resource is in the plural and in kebab-case, such as comments or blog-posts.',
    );
  const singular = singularOf(plural);
  if (singular === plural)
    throw new Error(`"${plural}" has no plural s: name the resource in the plural, such as comments.`);
  const Singular = pascal(singular);
  return {
    plural,
    singular,
    Plural: pascal(plural),
    Singular,
    variable: `${Singular[0].toLowerCase()}${Singular.slice(1)}Id`,
    title: sentence(plural),
  };
}

/** `blog-posts` becomes `blog-post`; unchanged if it is no plural. */
export function singularOf(plural) {
  return plural
    .replace(/ies$/, 'y')
    .replace(/(s|x|z|ch|sh)es$/, '$1')
    .replace(/([^s])s$/, '$1');
}

/** `blog-post` becomes `BlogPost`. */
export function pascal(name) {
  return name.replaceAll(/(?:^|-)(\w)/g, (_, letter) => letter.toUpperCase());
}

function sentence(name) {
  const words = name.replaceAll('-', ' ');
  return words[0].toUpperCase() + words.slice(1);
}
