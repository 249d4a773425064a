// Builds the dashboard into dist/dashboard, from where the master serves it under any path prefix. Larger assets are
// also stored compressed with gzip and brotli, which the master sends to clients that accept them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { ENVIRONMENT_FILLS } from './environment/fills.ts'

/** The compressed form of smaller files is hardly smaller. */
const LEAST_BYTES = 300

const twins = (): Plugin => ({
  name: 'twins',
  writeBundle: ({ dir = '' }) => {
    const assets = join(dir, 'assets')
    for (const name of readdirSync(assets).filter((each) => /\.(?:js|css|svg)$/.test(each))) {
      const bytes = readFileSync(join(assets, name))
      if (bytes.length < LEAST_BYTES) continue
      writeFileSync(join(assets, `${name}.gz`), gzipSync(bytes, { level: 9 }))
      writeFileSync(join(assets, `${name}.br`), brotliCompressSync(bytes))
    }
  },
})

/** The icon in the color of each environment, which the tab shows. */
const environmentIcons = (): Plugin => ({
  name: 'environment-icons',
  generateBundle() {
    const icon = readFileSync(join(import.meta.dirname, 'icon.svg'), 'utf8')
    for (const [color, fill] of Object.entries(ENVIRONMENT_FILLS))
      this.emitFile({ type: 'asset', fileName: `assets/icon-${color}.svg`, source: icon.replace('#0a58ca', fill) })
  },
})

const fromPackages = (path: string): string => path.slice(path.indexOf('node_modules/'))

/** Lists the files of packages inside the dashboard, for hack/build.mjs, which runs afterwards. */
const thirdParty = (): Plugin => ({
  name: 'third-party',
  writeBundle: ({ dir = '' }, bundle) => {
    const modules = Object.values(bundle).flatMap((each) => (each.type === 'chunk' ? each.moduleIds : []))
    const inPackages = modules.filter((path) => path.includes('node_modules/')).map(fromPackages)
    writeFileSync(join(dir, '../dashboard-modules.json'), JSON.stringify(inPackages))
  },
})

/** Small components that several pages share but the first page does not need. One file of them is smaller than ten. */
const SHARED_NAMES = [
  'act-button',
  'choices',
  'confirm-dialog',
  'copy-as',
  'count-input',
  'dialog',
  'download',
  'filter-bar',
  'filter-input',
  'json-view',
  'menu',
  'note-and-end',
  'result-list',
  'results',
  'runner',
  'show-more',
  'state-badge',
  'tabs',
  'typed-confirmation',
  'use-followed-end',
  'virtual-table',
  'window',
  'commands',
  'item-count',
]
const SHARED = new RegExp(`components/(?:${SHARED_NAMES.join('|')})\\.tsx?$`)

/** Small modules that the first page shares with others. They import nothing, so their file is evaluated first. */
const BASE =
  /(?:dashboard\/(?:api\/installed|components\/(?:json-text|numbers)|settings\/preferences)|diagnosis\/texts)\.ts$/

/** The pages and dialogs of operations, which are opened one after the other. */
const OPERATIONS =
  /dashboard\/(?:operations\/(?!operations-link|reading|path|texts)|workers\/(?:bulk-(?!act)|type-choice|worker-names))/

export default defineConfig({
  base: './',
  plugins: [react(), environmentIcons(), twins(), thirdParty()],
  worker: { format: 'es' },
  build: {
    outDir: '../../dist/dashboard', // Relative to src/dashboard, the root of Vite.
    emptyOutDir: true,
    assetsInlineLimit: 0, // The content security policy does not allow `data:`.
    modulePreload: { polyfill: false },
    // Older than light-dark(), so it is replaced (styles/tokens.css).
    cssTarget: ['chrome111', 'firefox114', 'safari16.4'],
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'shared', test: SHARED },
            { name: 'base', test: BASE },
            { name: 'operations', test: OPERATIONS },
            { name: 'views', test: /dashboard\/views\// },
            { name: 'history', test: /dashboard\/history\/(?:flow|queue)-charts\.tsx$/ },
          ],
        },
      },
    },
    sourcemap: false, // The dashboard is served without a token, and maps would multiply its size.
  },
})
