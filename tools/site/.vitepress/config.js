import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { defineConfig } from 'vitepress';
import { description, engines, excluded, linkToPage, root, tasks, version } from '../pages.js';

const title = 'Posts and todos';
const sections = tasks();
const urlOf = (link) => `/${linkToPage(link, '')}`.replace(/(?:index)?\.md/, '');

/** Vue is installed here, and not beside the pages, which import it. */
const vueFromHere = {
  name: 'vue-from-here',
  enforce: 'pre',
  resolveId(id, _importer, options) {
    if (/^vue(?:$|\/)/.test(id))
      return this.resolve(id, fileURLToPath(import.meta.url), { ...options, skipSelf: true });
  },
};

export default defineConfig({
  title,
  description,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '../..',
  srcExclude: excluded,
  metaChunk: true,
  cacheDir: './node_modules/.cache',
  rewrites: (page) => page.replace(/^tools\/site\//, '').replace(/README\.md$/, 'index.md'),
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    anchor: { slugify },
    config(md) {
      md.core.ruler.push('pages', linkToPages);
      const { fence } = md.renderer.rules;
      md.renderer.rules.fence = (tokens, i, ...rest) =>
        tokens[i].info === 'mermaid' ? diagram(tokens[i].content) : fence(tokens, i, ...rest);
    },
  },
  themeConfig: {
    nav: [
      {
        text: `${version} for Node.js ${engines.node.match(/\d+\.\d+/g).join(', ')} or newer`,
        link: '/CHANGELOG',
      },
    ],
    sidebar: sections.map(({ title: text, pages }) => ({
      text,
      items: pages.map(({ name, link }) => ({ text: name, link: urlOf(link) })),
    })),
    outline: 'deep',
    search: {
      provider: 'local',
      options: { _render: (text, env, md) => (isNoise(env) ? '' : md.render(text, env)) },
    },
  },
  vite: { plugins: [vueFromHere] },
  buildEnd: ({ outDir, pages }) => writeForModels(outDir, pages),
});

/** The anchor that GitHub gives a heading. */
function slugify(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

function linkToPages({ tokens, env }) {
  const links = tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open');
  for (const link of links) link.attrSet('href', linkToPage(link.attrGet('href'), env.relativePath));
}

/** A drawing in the colors and the font of the page. */
function diagram(source) {
  const svg = renderMermaidSVG(source, {
    bg: 'var(--vp-c-bg)',
    fg: 'var(--vp-c-text-1)',
    muted: 'var(--vp-c-text-2)',
    line: 'var(--vp-c-text-3)',
    transparent: true,
    padding: 8,
  });
  // The site has the font; the drawing would load it from elsewhere.
  const html = JSON.stringify(svg.replace(/@import url\(.*?\);/g, ''));
  return `<div tabindex="0" style="overflow-x: auto" v-html="${html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"></div>`;
}

/** The changelog has a word of everything. */
const isNoise = ({ relativePath }) => relativePath === 'CHANGELOG.md';

/** Writes the pages as Markdown, and llms.txt, which lists them: https://llmstxt.org */
function writeForModels(outDir, pages) {
  for (const page of pages.filter((page) => !page.startsWith('tools/site/')))
    copyFileSync(join(root, page), join(outDir, page));
  const lists = sections.map(({ title: heading, pages }) =>
    [`## ${heading}\n`, ...pages.map(({ task, name, link }) => `- [${name}](${link}): ${task}`)].join('\n'),
  );
  writeFileSync(join(outDir, 'llms.txt'), [`# ${title}`, `> ${description}`, ...lists].join('\n\n') + '\n');
}
