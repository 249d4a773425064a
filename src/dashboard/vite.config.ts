// Builds the page into dist/dashboard, from where the master serves it under any path prefix. Each file that is worth it
// gets a gzip and a brotli twin, which the master sends to whoever takes them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Below it, a packet is a packet. */
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

export default defineConfig({
  base: './',
  plugins: [react(), twins()],
  worker: { format: 'es' },
  build: {
    outDir: '../../dist/dashboard', // Seen from src/dashboard, which is vite's root.
    emptyOutDir: true,
    assetsInlineLimit: 0, // The page's content security policy has no `data:`.
    modulePreload: { polyfill: false },
    sourcemap: false, // The page is served without a token; maps would multiply its size.
  },
})
