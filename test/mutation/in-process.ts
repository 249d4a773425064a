/**
 * Runs single tests of Jest files in this process, as often as wanted. Hooks of `beforeAll` run before the first test
 * that needs them and stay, so that a test file keeps its server from one mutant to the next.
 */
import { registerHooks } from 'node:module'
import type { Block, Test } from './jest-globals.ts'

const HOOK_LIMIT_MS = 10_000

export type Outcome = { readonly kind: 'passed' } | { readonly kind: 'failed' | 'timed_out'; readonly error: string }

/**
 * From now on, test files that are imported define their tests in jest-globals.ts. A promise that a test left behind
 * may fail at any time, which ends no process.
 */
export function replaceJest(): void {
  process.on('unhandledRejection', () => undefined)
  process.on('uncaughtException', (error) => {
    if (error.name === 'ReplyError') return // A connection that a test left behind meets a server that is busy.
    console.error(error)
    process.exit(1)
  })
  const globals = new URL('jest-globals.ts', import.meta.url).href
  registerHooks({
    resolve: (name, context, next) => {
      if (name === '@jest/globals' && context.parentURL !== globals) return { url: globals, shortCircuit: true }
      const resolved = next(name, context)
      const copy = COPY.exec(context.parentURL ?? '')?.[0]
      const isOfProject = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/')
      return copy !== undefined && isOfProject ? { ...resolved, url: resolved.url + copy } : resolved
    },
  })
}

const COPY = /\?copy=\d+$/
let copies = 0

/** Imports a new copy of a file and of all project files that it imports, so that their top-level code runs again. */
export function importCopy(url: string): Promise<unknown> {
  copies += 1
  return import(`${url}?copy=${copies}`)
}

export class InProcessTests {
  readonly #opened = new Set<Block>()

  /** Hooks of `afterEach` run also after a failure, and their own failures are ignored then. */
  async run(test: Test, limitMs: number): Promise<Outcome> {
    const blocks = chainOf(test.block)
    const outcome = await this.#run(test, blocks, limitMs)
    const after = await outcomeOf(async () => {
      for (const block of blocks.toReversed()) for (const hook of block.afterEach) await within(HOOK_LIMIT_MS, hook)
    })
    return outcome.kind === 'passed' ? after : outcome
  }

  /** Runs the hooks of `afterAll`; the next test opens its blocks again. */
  async close(): Promise<void> {
    for (const block of this.#opened)
      for (const hook of block.afterAll) await within(HOOK_LIMIT_MS, hook).catch(() => undefined)
    this.#opened.clear()
  }

  #run(test: Test, blocks: readonly Block[], limitMs: number): Promise<Outcome> {
    return outcomeOf(async () => {
      for (const block of blocks) await this.#open(block)
      for (const block of blocks) for (const hook of block.beforeEach) await within(HOOK_LIMIT_MS, hook)
      await within(limitMs, test.body)
    })
  }

  async #open(block: Block): Promise<void> {
    if (this.#opened.has(block)) return
    this.#opened.add(block)
    for (const hook of block.beforeAll) await within(HOOK_LIMIT_MS, hook)
  }
}

class TooLong extends Error {}

async function outcomeOf(run: () => Promise<void>): Promise<Outcome> {
  try {
    await run()
    return { kind: 'passed' }
  } catch (error) {
    if (error instanceof TooLong) return { kind: 'timed_out', error: error.message }
    return { kind: 'failed', error: error instanceof Error ? error.message : String(error) }
  }
}

async function within(limitMs: number, body: () => unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLong(`took longer than ${limitMs} ms`)), limitMs)
  })
  const run = Promise.resolve().then(body)
  run.catch(() => undefined) // It may still fail after the limit.
  try {
    await Promise.race([run, limit])
  } finally {
    clearTimeout(timer)
  }
}

const chainOf = (block: Block): readonly Block[] =>
  block.parent === null ? [block] : [...chainOf(block.parent), block]
