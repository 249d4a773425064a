// Builds the page into dist/dashboard, from where the master serves it under any path prefix.
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    outDir: '../../dist/dashboard', // Seen from src/dashboard, which is vite's root.
    emptyOutDir: true,
    assetsInlineLimit: 0, // The page's content security policy has no `data:`.
    sourcemap: true,
  },
})
