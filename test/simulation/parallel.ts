/**
 * Searches seeds in several processes. Each one takes every n-th seed, so that all of them are busy to the end. The
 * first violation ends the search.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SearchResult } from './search.ts'
import { ONE_THREAD } from './simulate.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

/** What a searching process sends: how many seeds it has run, and finally its result. */
export type SearchMessage =
  { readonly kind: 'progress'; readonly seeds: number } | { readonly kind: 'result'; readonly result: SearchResult }

export interface ParallelOptions {
  readonly base: number
  readonly seeds: number
  readonly processes: number
  readonly twice: number
  readonly shouldShrink: boolean
  readonly until: string | undefined
  /** Called with the number of seeds that all processes have run. */
  readonly onSeed: (seeds: number) => void
}

/** Searches `seeds` seeds from `base` on. */
export async function searchInParallel(options: ParallelOptions): Promise<SearchResult> {
  const { processes, onSeed } = options
  const done = Array.from({ length: processes }, () => 0)
  const abort = new AbortController()
  const results = await Promise.all(
    done.map(async (_, at) => {
      const result = await searchInChild(options, at, abort.signal, (seeds) => {
        done[at] = seeds
        onSeed(done.reduce((sum, each) => sum + each, 0))
      })
      if (result !== null && (result.violation !== null || result.differing !== null)) abort.abort()
      return result
    }),
  )
  return merge(results.filter((each) => each !== null))
}

/** @returns null if the search was ended by another process. */
function searchInChild(
  { base, seeds, processes, twice, shouldShrink, until }: ParallelOptions,
  at: number,
  signal: AbortSignal,
  onSeed: (seeds: number) => void,
): Promise<SearchResult | null> {
  const share = Math.ceil((seeds - at) / processes)
  const numbers = { base: base + at, step: processes, seeds: share, twice: Math.ceil(twice / processes) }
  const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)])
  if (shouldShrink) args.push('--shrink')
  if (until !== undefined) args.push('--until', until)
  return new Promise((resolve, reject) => {
    let result: SearchResult | null = null
    const child = fork(MAIN, args, { stdio: 'inherit', execArgv: [...process.execArgv, ...ONE_THREAD] })
    const onAbort = (): void => void child.kill('SIGKILL')
    signal.addEventListener('abort', onAbort, { once: true })
    child.on('message', (message: SearchMessage) => {
      if (message.kind === 'progress') onSeed(message.seeds)
      else result = message.result
    })
    child.on('error', reject)
    child.on('exit', (code, killedBy) => {
      signal.removeEventListener('abort', onAbort)
      if (result !== null || signal.aborted) resolve(result)
      else reject(new Error(`a simulator ended with ${killedBy ?? code} and without a result`))
    })
  })
}

function merge(results: readonly SearchResult[]): SearchResult {
  const counted: Record<string, number> = {}
  for (const result of results)
    for (const [what, count] of Object.entries(result.counted)) counted[what] = (counted[what] ?? 0) + count
  const sum = (of: (result: SearchResult) => number): number => results.reduce((total, each) => total + of(each), 0)
  const seeds = sum((each) => each.seeds)
  const failed = results.find(({ violation, differing }) => violation !== null || differing !== null)
  return {
    seeds,
    events: sum((each) => each.events),
    cpuMsPerSeed: Math.round(sum((each) => each.cpuMsPerSeed * each.seeds) / seeds),
    counted,
    violation: failed?.violation ?? null,
    plan: failed?.plan ?? null,
    shrunk: failed?.shrunk ?? null,
    differing: failed?.differing ?? null,
    leftOpen: [...new Set(results.flatMap(({ leftOpen }) => leftOpen))],
    neverReached: [],
  }
}
