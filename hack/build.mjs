#!/usr/bin/env node
// Bundles src/ into dist/ and makes dist/ the package that is published.
// Usage: node hack/build.mjs [ROOT]    Exit: 0 built, 1 an entry point is missing or esbuild failed.
//
// Entry points are the files that package.json names (`bin`, and `exports` of code) and every file that is loaded by
// its path. They share chunks, so `import 'muster/automation'` in a plugin loads the same module as the master. The
// dependencies of dist/package.json are the packages outside the bundle. The published client is bundled alone, because
// the shared chunks need Node and it runs in browsers too. LICENSE, README.md, crds/ and the licences of
// the bundled packages are copied to dist/. The types beside the bundle come from `tsc -p tsconfig.build.json`. The
// dashboard comes from vite, which runs before and lists the packages in it.
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { licencesOf, packagesOf, writeThirdParty } from './build-licences.mjs'
import { PLUGINS } from './build-plugins.mjs'

process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))

const LOADED_BY_PATH = ['src/storage/sqlite/thread.ts']
const FOR_BROWSERS = ['src/client/public.ts']
// Native, or it loads parts of itself by name.
const OUTSIDE = ['better-sqlite3', '@opentelemetry/sdk-node']
const OPTIONAL_OF_WS = ['bufferutil', 'utf-8-validate']
/** Bundled as code, and dependencies too: sdk-node needs the same API, and .d.ts files of the package name typebox. */
const ALSO_INSTALLED = ['@opentelemetry/api', 'typebox']
const COPIED = ['LICENSE', 'README.md', 'crds']
// CommonJS packages in an ES module need a `require`; the odd name avoids a clash with theirs.
const REQUIRE = "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);"
const SHEBANG = '#!/usr/bin/env node\n'

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const { repository } = JSON.parse(readFileSync('release.json', 'utf8'))
const faces = Object.values(manifest.exports).flatMap((face) => (typeof face === 'string' ? [] : [face.default]))
const bins = Object.values(manifest.bin)
const promised = [...bins, ...faces].map((path) => path.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts'))
const entryPoints = [...promised, ...LOADED_BY_PATH]

/** Converts `./dist/x` to the path in the published manifest: `./x`. */
const relocated = (value) => JSON.parse(JSON.stringify(value).replaceAll('"./dist/', '"./'))

function publishedManifest() {
  const { name, version, description, license, type, engines, keywords } = manifest
  const dependencies = Object.fromEntries(
    [...OUTSIDE, ...ALSO_INSTALLED].toSorted().map((each) => [each, manifest.dependencies[each]]),
  )
  return {
    name,
    version,
    description,
    keywords,
    repository: { type: 'git', url: `git+${repository}.git` },
    license,
    type,
    engines,
    bin: relocated(manifest.bin),
    exports: relocated(manifest.exports),
    dependencies,
  }
}

/** A file that starts by itself. The source map moves down by the line that the shebang adds. */
function makeExecutable(path) {
  const code = readFileSync(path, 'utf8')
  if (!code.startsWith('#!')) {
    writeFileSync(path, SHEBANG + code)
    const map = JSON.parse(readFileSync(`${path}.map`, 'utf8'))
    writeFileSync(`${path}.map`, JSON.stringify({ ...map, mappings: `;${map.mappings}` }))
  }
  chmodSync(path, 0o755)
}

const missing = entryPoints.filter((path) => !existsSync(path))
const present = entryPoints.filter((path) => existsSync(path))
rmSync('dist/chunks', { recursive: true, force: true }) // Their names carry hashes, so old ones would accumulate.
mkdirSync('dist', { recursive: true })
const common = {
  absWorkingDir: process.cwd(),
  outbase: 'src',
  outdir: 'dist',
  bundle: true,
  format: 'esm',
  sourcemap: true,
  sourcesContent: false, // Stack traces need only positions, and the sources would be half of the package.
  logLevel: 'warning',
}
const { metafile } = await build({
  ...common,
  entryPoints: present.filter((path) => !FOR_BROWSERS.includes(path)),
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  platform: 'node',
  target: 'node22',
  external: [...OUTSIDE, ...OPTIONAL_OF_WS],
  banner: { js: REQUIRE },
  metafile: true,
  plugins: PLUGINS,
})
const { metafile: client } = await build({
  ...common,
  metafile: true,
  entryPoints: present.filter((path) => FOR_BROWSERS.includes(path)),
  platform: 'neutral',
  target: 'es2023',
})
for (const path of bins.filter((each) => existsSync(each))) makeExecutable(path)
for (const path of COPIED.filter((each) => existsSync(each))) cpSync(path, `dist/${path}`, { recursive: true })
/** What vite listed, once: a build without vite keeps the list of the last one. */
function packagesOfDashboard() {
  const path = 'dist/dashboard-modules.json'
  if (!existsSync(path)) return {}
  const dashboard = packagesOf(JSON.parse(readFileSync(path, 'utf8')))
  rmSync(path)
  return { dashboard }
}
const { bundle, dashboard = [] } = writeThirdParty('dist/third-party.json', {
  bundle: packagesOf([...Object.keys(metafile.inputs), ...Object.keys(client.inputs)]),
  client: packagesOf(Object.keys(client.inputs)),
  ...packagesOfDashboard(),
})
writeFileSync('dist/THIRD-PARTY-LICENSES', licencesOf([...bundle, ...dashboard], '.'))
writeFileSync('dist/package.json', `${JSON.stringify(publishedManifest(), null, 2)}\n`)

const bytes = Object.entries(metafile.outputs).reduce(
  (sum, [path, output]) => (path.endsWith('.map') ? sum : sum + output.bytes),
  0,
)
console.log(`build: ${present.length} entry points, ${(bytes / 1e6).toFixed(1)} MB in dist/`)
for (const path of missing) console.error(`build: ${path} is missing; package.json or hack/build.mjs promises it`)
process.exitCode = missing.length === 0 ? 0 : 1
