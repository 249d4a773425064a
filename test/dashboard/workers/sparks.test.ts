import { describe, expect, it } from '@jest/globals'
import type { Api } from '../../../src/dashboard/api/client.ts'
import { sparkPath, Sparks } from '../../../src/dashboard/workers/sparks.ts'
import { NOW, row } from './rows.ts'

/** Returns one reading per worker once the test releases it. */
function held(): { api: Api; asked: string[]; letAll: () => Promise<void> } {
  const asked: string[] = []
  const waiting: (() => void)[] = []
  const get = async (path: readonly string[]): Promise<{ body: unknown; epoch: string }> => {
    asked.push(path[3] ?? '')
    await new Promise<void>((resolve) => waiting.push(resolve))
    return {
      body: [
        { ts: NOW - 30, cpu_pct: 10 },
        { ts: NOW - 15, cpu_pct: 20 },
      ],
      epoch: 'e',
    }
  }
  const letAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      for (const each of waiting.splice(0)) each()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { api: { get } as unknown as Api, asked, letAll }
}

const rows = (from: number, count: number) => Array.from({ length: count }, (_, n) => row(`m-${from + n}`))
const { signal } = new AbortController()

describe('CPU sparklines', () => {
  it('are read six at a time, and not for rows that left the view', async () => {
    const { api, asked, letAll } = held()
    const sparks = new Sparks()
    sparks.want(rows(0, 20), api, signal)
    expect(asked).toHaveLength(6)
    sparks.want(rows(100, 2), api, signal)
    await letAll()
    expect(asked.slice(6)).toEqual(['m-100', 'm-101'])
    expect(sparks.of('mailer/m-100')).toEqual([
      { ts: NOW - 30, cpu: 10 },
      { ts: NOW - 15, cpu: 20 },
    ])
  })

  it('are not read for workers that are already known or offline', async () => {
    const { api, asked, letAll } = held()
    const sparks = new Sparks()
    sparks.want([row('a'), row('off', { connected: false })], api, signal)
    await letAll()
    sparks.want([row('a')], api, signal)
    expect(asked).toEqual(['a'])
  })

  it('are extended by newer values of the list only', async () => {
    const { api, letAll } = held()
    const sparks = new Sparks()
    sparks.want([row('a')], api, signal)
    await letAll()
    const at = (ts: number) => row('a', { current_stats: { cpu_pct: 50, rss_mb: 1, slots: 1, ts } })
    sparks.prolong([at(NOW), at(NOW - 15)])
    expect(sparks.of('mailer/a')?.map(({ cpu }) => cpu)).toEqual([10, 20, 50])
    for (let n = 1; n <= 50; n += 1) sparks.prolong([at(NOW + n)])
    expect(sparks.of('mailer/a')).toHaveLength(40)
  })

  it('are kept for the 500 most recently used workers', async () => {
    const { api, letAll } = held()
    const sparks = new Sparks()
    for (let from = 0; from < 520; from += 20) {
      sparks.want(rows(from, 20), api, signal)
      await letAll()
    }
    expect([sparks.of('mailer/m-0'), sparks.of('mailer/m-519') === undefined]).toEqual([undefined, false])
  })

  it('are drawn with a gap where readings are missing', () => {
    const path = sparkPath([
      { ts: 0, cpu: 0 },
      { ts: 15, cpu: 100 },
      { ts: 100, cpu: 50 },
    ])
    expect(path).toBe('M0.0 19.0L9.6 1.0M64.0 10.0')
  })
})
