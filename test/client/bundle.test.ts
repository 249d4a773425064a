/** Bundles the published client as a page would, and runs the bundle without the globals of Node. */
import { gzipSync } from 'node:zlib'
import { createContext, runInContext } from 'node:vm'
import { expect, it } from '@jest/globals'
import { build } from 'esbuild'
import { fileURLToPath } from 'node:url'
import { runMaster, TOKENS } from '../kit/running-master.ts'

/** 1.1 kB of it are the calls for logs, groups of dead tasks, operations and alerts (D217). */
const MAX_BYTES = 10_900
const ENTRY = fileURLToPath(new URL('../../src/client/public.ts', import.meta.url))

async function bundle(format: 'esm' | 'iife'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    write: false,
    format,
    globalName: 'muster',
    platform: 'browser', // Fails for a module of Node.
    target: 'es2023',
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

it(`has at most ${MAX_BYTES / 1_000} kB as a compressed bundle for browsers`, async () => {
  const bytes = gzipSync(await bundle('esm')).length
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
})

it('submits from a program that has only the globals of browsers', async () => {
  const { url } = await runMaster()
  const { AbortController, AbortSignal, MessageChannel, TextEncoder, URL, clearTimeout, crypto, performance } =
    globalThis
  const globals = { AbortController, AbortSignal, MessageChannel, TextEncoder, URL, clearTimeout, crypto, performance }
  const context = createContext({ ...globals, fetch, setTimeout, url, token: TOKENS.admin })
  const program = `
    const mails = new muster.MusterClient({ url, token }).automation('mailer')
    Promise.all([mails.submit({ to: 'ada' }), mails.submit({ to: 'bob' })]).then(() => mails.queue())`
  const queue = (await runInContext(`${await bundle('iife')};${program}`, context)) as { length: number }
  expect(queue.length).toBe(2)
})
