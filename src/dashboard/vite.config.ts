// Builds the dashboard into dist/dashboard, from where the master serves it under any path prefix. Larger assets are
// also stored compressed with gzip and brotli, which the master sends to clients that accept them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Smaller files fit into one packet anyway. */
const LEAST_BYTES = 1_000

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

/** Small components that several pages share but the first page does not need. One file of them is smaller than ten. */
const SHARED_NAMES = [
  'choices',
  'confirm-dialog',
  'copy-as',
  'count-input',
  'dialog',
  'download',
  'filter-bar',
  'json-view',
  'show-more',
  'state-badge',
  'tabs',
  'typed-confirmation',
  'virtual-table',
  'window',
  'commands',
  'item-count',
]
const SHARED = new RegExp(`components/(?:${SHARED_NAMES.join('|')})\\.tsx?$`)

/** Small modules that the first page shares with others. They import nothing, so their file is evaluated first. */
const BASE = /dashboard\/(?:api\/installed|components\/(?:json-text|numbers)|settings\/preferences)\.ts$/

export default defineConfig({
  base: './',
  plugins: [react(), twins()],
  worker: { format: 'es' },
  build: {
    outDir: '../../dist/dashboard', // Relative to src/dashboard, the root of Vite.
    emptyOutDir: true,
    assetsInlineLimit: 0, // The content security policy does not allow `data:`.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'shared', test: SHARED },
            { name: 'base', test: BASE },
          ],
        },
      },
    },
    sourcemap: false, // The dashboard is served without a token, and maps would multiply its size.
  },
})
