/** Rows of a large fleet: all of them once, then what changed (D161). */
import { describe, expect, it } from '@jest/globals'
import type { WorkerChangesBody, WorkerColumns } from '../../../src/protocol/index.ts'
import type { Api } from '../../../src/dashboard/api/client.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { LargeFleet } from '../../../src/dashboard/workers/large-fleet.ts'
import { WorkerStore } from '../../../src/dashboard/workers/store.ts'

const TS = 1_000

function columnsOf(ids: readonly string[], state: 'RUNNING' | 'ERROR' = 'RUNNING', age = 3): WorkerColumns {
  const each = <T>(value: T): T[] => ids.map(() => value)
  return {
    worker_id: [...ids],
    state: each(state),
    connected: each(true),
    ended: each(false),
    draining: each(false),
    seen_age: each(age),
    state_age: each(60),
    registered_age: each(90),
    last_error: each(null),
    config_gen: each(1),
    applied_config_gen: each(1),
    refused_config_gen: each(null),
    config_changed_age: each(null),
    config_changed_by: each(null),
    config_revision: each(null),
    managed_by: each(null),
    tasks_held: each(null),
    hostname: each('node-1'),
    labels: each({}),
    config: each({ enabled: true }),
    slots: each(2),
    cpu_pct: each(20),
    rss_mb: each(100),
    stats_age: each(age),
  }
}

/** By the `after` of the request. */
const PAGES: Readonly<Record<string, readonly string[]>> = { '': ['m-1', 'm-2'], 'm-2': ['m-3'] }
const NOTHING: WorkerChangesBody = { ts: TS, cursor: 'c1', is_reset: false, has_more: false, changed: {}, removed: {} }

/** Two pages of `mailer`; then the given responses, and no further change. */
function fixture(changes: readonly (Partial<WorkerChangesBody> | Problem)[]) {
  const store = new WorkerStore()
  const asked: string[] = []
  const problems: (Problem | undefined)[] = []
  const left = [...changes]
  const get = async (path: readonly string[], query: Readonly<Record<string, string>> = {}): Promise<object> => {
    const name = path.at(-1) ?? ''
    asked.push(`${name} ${query['after'] ?? query['since'] ?? ''}${'stats_after' in query ? ' stats' : ''}`)
    if (name === 'worker-columns') {
      const ids = PAGES[query['after'] ?? ''] ?? []
      return { body: { ts: TS, cursor: `c${asked.length}`, next: ids.at(-1) ?? null, workers: columnsOf(ids) } }
    }
    const next = left.shift() ?? {}
    if (next instanceof Problem) throw next
    return { body: { ...NOTHING, ...next } }
  }
  const fleet = new LargeFleet({
    api: { get } as unknown as Api,
    store,
    types: ['mailer'],
    report: (problem) => void problems.push(problem),
  })
  const run = async (turns: number): Promise<number[]> => {
    const stop = new AbortController()
    const waits: number[] = []
    await fleet.run({
      signal: stop.signal,
      pause: async (ms) => {
        waits.push(ms)
        if (waits.length >= turns) stop.abort()
        return false
      },
    })
    return waits
  }
  const stateOf = (id: string) => store.snapshot().rows.get(`mailer/${id}`)?.state
  return { store, asked, problems, run, stateOf }
}

describe('the rows of a large fleet', () => {
  it('are read in whole once, then only what changed, with statistics at every second poll', async () => {
    const { store, asked, run } = fixture([])
    expect(await run(4)).toEqual([2_500, 2_500, 2_500, 2_500])
    expect([...store.snapshot().rows.keys()]).toEqual(['mailer/m-1', 'mailer/m-2', 'mailer/m-3'])
    expect(store.snapshot().whole.has('mailer')).toBe(true)
    expect(asked).toEqual([
      'worker-columns ',
      'worker-columns m-2',
      'worker-columns m-3',
      'worker-changes c1',
      'worker-changes c1 stats',
      'worker-changes c1',
    ])
  })

  it('follow changed and forgotten workers, and new statistics', async () => {
    const { store, run, stateOf } = fixture([
      {
        cursor: 'c2',
        changed: { mailer: columnsOf(['m-2', 'm-9'], 'ERROR') },
        removed: { mailer: ['m-1'] },
        stats: {
          ts: TS + 5,
          after: '',
          workers: {
            mailer: { worker_id: ['m-3'], seen_age: [1], slots: [4], cpu_pct: [55.5], rss_mb: [9], stats_age: [1] },
          },
        },
      },
    ])
    await run(2)
    expect(['m-1', 'm-2', 'm-3', 'm-9'].map(stateOf)).toEqual([undefined, 'ERROR', 'RUNNING', 'ERROR'])
    expect(store.snapshot().rows.get('mailer/m-3')).toMatchObject({
      last_seen: TS + 4,
      read_at: TS + 5,
      current_stats: { slots: 4, cpu_pct: 55.5, rss_mb: 9, ts: TS + 4 },
    })
  })

  it('are read in whole again if the master no longer has the cursor', async () => {
    const { asked, run } = fixture([{ is_reset: true }])
    await run(2)
    expect(asked.slice(3)).toEqual(['worker-changes c1', 'worker-columns ', 'worker-columns m-2', 'worker-columns m-3'])
  })

  it('are followed without a pause while there are more changes', async () => {
    const { asked, run } = fixture([{ cursor: 'c2', has_more: true }, { cursor: 'c3' }])
    await run(2)
    expect(asked.slice(3)).toEqual(['worker-changes c1', 'worker-changes c2'])
  })

  it('continue at the cursor when their page is opened again, and after a failed read', async () => {
    const { asked, problems, run } = fixture([{ cursor: 'c2' }, new Problem('no response'), { cursor: 'c3' }])
    await run(2)
    await run(2)
    expect(asked.slice(3)).toEqual(['worker-changes c1', 'worker-changes c2 stats', 'worker-changes c2'])
    expect(problems.filter((problem) => problem !== undefined)).toHaveLength(1)
  })

  it('are repaired by reading one page again every 30 s', async () => {
    const { asked, run } = fixture([])
    await run(46)
    const pages = asked.slice(3).filter((each) => each.startsWith('worker-columns'))
    expect(pages).toEqual(['worker-columns ', 'worker-columns m-2', 'worker-columns m-3'])
  })
})
