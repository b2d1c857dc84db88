// Bundles the page: node build.cjs WEB_FOLDER NODE_MODULES OUT_FOLDER. One script, one style sheet, nothing inline.
const esbuild = require('esbuild');
const fs = require('fs');
const path = require('path');
const [web, modules, out] = process.argv.slice(2);

fs.mkdirSync(out, {recursive: true});
esbuild.buildSync({
  entryPoints: [{in : path.join(web, 'src/main.ts'), out: 'app'}],
  outdir: out,
  bundle: true,
  minify: true,
  target: 'es2020',
  format: 'iife',
  nodePaths: [modules],
  legalComments: 'inline',
  logLevel: 'warning',
});
// The colours that the page shares with the reports: light, dark by the system's choice, and by the reader's.
const palette = JSON.parse(fs.readFileSync(path.join(web, '../data/palette.json'), 'utf8'));
const colours = scheme => `color-scheme:${scheme};` + Object.entries(palette[scheme]).map(([name, value]) => `--${name}:${value}`).join(';');
const style = path.join(out, 'app.css');
fs.writeFileSync(style, `:root{${colours('light')}}@media(prefers-color-scheme:dark){:root:not([data-theme=light]){${colours('dark')}}}` +
    `:root[data-theme=dark]{${colours('dark')}}` + fs.readFileSync(style, 'utf8'));
for (const file of ['index.html', 'icon.svg']) fs.copyFileSync(path.join(web, file), path.join(out, file));
