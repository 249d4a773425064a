/** A master with a worker for test/client/runtime-program.ts, and the program as a bundle. */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { MasterOptions } from '../../src/master/index.ts'
import { runMaster } from '../kit/running-master.ts'
import { emit, register } from './fixture.ts'
import { complete, SETTINGS, WORKER } from './published-fixture.ts'

/** What the program returns in every runtime. */
export const EXPECTED = {
  results: [{ sent: 'a' }, { sent: 'b' }],
  place: 'scheduled',
  cancelled: { id: 'later', outcome: 'cancelled' },
  slots: [1, 2],
  aborted: 'stopped',
  deleted: 0,
  events: ['queue.totals'],
  refusal: { code: 'INVALID', outcome: 'not_done', retryable: false, faults: ['/payload/to'], hasRequestId: true },
}

/** Bundles the program with the client: a module, or for pages a script with the global `program`. */
export async function bundleProgram(format: 'esm' | 'iife'): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('runtime-program.ts', import.meta.url))],
    bundle: true,
    write: false,
    format,
    globalName: 'program',
    platform: 'browser',
    target: 'es2023',
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
}

/** Calls `use` with the URL of a master whose worker completes all tasks. @returns what `use` returns. */
export async function withWorker<T>(
  use: (url: string) => Promise<T>,
  settings: Partial<MasterOptions['settings']> = {},
): Promise<T> {
  const master = await runMaster({ settings: { ...SETTINGS, ...settings } })
  await register(master, WORKER)
  await emit(master, [1, 2])
  const end = new AbortController()
  const worker = (async () => {
    for (; !end.signal.aborted; await new Promise((resolve) => void setTimeout(resolve, 50))) await complete(master)
  })()
  try {
    return await use(master.url)
  } finally {
    end.abort()
    await worker
  }
}
