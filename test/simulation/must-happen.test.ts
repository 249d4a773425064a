/** Tests that a long search fails if it never reached a situation. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'
import { MUST_HAPPEN, neverReached } from './must-happen.ts'
import type { SearchResult } from './search.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const SEARCH_MS = 120_000

interface Search {
  readonly status: number | null
  readonly result: SearchResult
  readonly stderr: string
}

/** Searches two seeds, where a search of `gate` seeds has to reach every situation. */
async function search(gate: number): Promise<Search> {
  const args = [MAIN, '--base', '0', '--seeds', '2', '--gate', String(gate)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit') as Promise<[number | null]>
  const [[status], stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)])
  return { status, result: JSON.parse(stdout) as SearchResult, stderr }
}

it(
  'fails a search of the gated length that does not reach every situation, and no shorter one',
  async () => {
    const [long, short] = await Promise.all([search(2), search(3)])
    const missing = neverReached(long.result.counted)
    expect(missing).toContain('config generation raised after a restore')
    expect(long).toMatchObject({ status: 3, result: { violation: null, neverReached: missing } })
    expect(long.stderr).toContain(`never reached: ${missing[0]}`)
    expect(short).toMatchObject({ status: 0, result: { neverReached: [] } })
  },
  SEARCH_MS,
)

it('names only the situations with a count of 0', () => {
  const all = Object.fromEntries(Object.keys(MUST_HAPPEN).map((situation) => [situation, 1]))
  expect(neverReached(all)).toEqual([])
  expect(neverReached({ ...all, 'lease expired': 0 })).toEqual(['lease expired'])
})
