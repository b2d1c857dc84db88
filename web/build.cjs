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
for (const file of ['index.html', 'icon.svg']) fs.copyFileSync(path.join(web, file), path.join(out, file));
