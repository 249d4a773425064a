/** Tests that a long search fails if it never reached a situation. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'
import { MUST_HAPPEN, neverReached } from './must-happen.ts'
import type { SearchResult } from './search.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
const SEARCH_MS = 120_000

it(
  'fails a search of the gated length that does not reach every situation, and no shorter one',
  () => {
    const search = (
      gate: number,
    ): { readonly status: number | null; readonly result: SearchResult; stderr: string } => {
      const args = [MAIN, '--base', '0', '--seeds', '2', '--gate', String(gate)]
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      return { status, result: JSON.parse(stdout) as SearchResult, stderr }
    }
    const long = search(2)
    const missing = neverReached(long.result.counted)
    expect(missing).toContain('config generation raised after a restore')
    expect(long).toMatchObject({ status: 3, result: { violation: null, neverReached: missing } })
    expect(long.stderr).toContain(`never reached: ${missing[0]}`)
    expect(search(3)).toMatchObject({ status: 0, result: { neverReached: [] } })
  },
  SEARCH_MS,
)

it('names only the situations with a count of 0', () => {
  const all = Object.fromEntries(Object.keys(MUST_HAPPEN).map((situation) => [situation, 1]))
  expect(neverReached(all)).toEqual([])
  expect(neverReached({ ...all, 'lease expired': 0 })).toEqual(['lease expired'])
})
