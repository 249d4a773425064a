/** Tests when the process of a worker can end without interrupting a task. */
import { describe, expect, it } from '@jest/globals'
import { podWorkerOf, type WorkerContext } from '../../../../src/operator/fleetworkerset/scale/workers.ts'
import type { WorkerRow } from '../../../../src/operator/fleet/index.ts'

const NOW_MS = 10_000_000
const CONTEXT: WorkerContext = { nowMs: NOW_MS, timeoutMs: 0, claim: 'own', cordonOf: () => 'c0c0c0c0' }
type Row = WorkerRow['record']
const stats = (more: Partial<NonNullable<Row['current_stats']>> = {}): Row['current_stats'] => ({
  slots: 0,
  cpu_pct: 0,
  rss_mb: 1,
  config_gen: 7,
  ...more,
})
function seen(more: Partial<Row>, context: Partial<WorkerContext> = {}): ReturnType<typeof podWorkerOf> {
  const record = {
    worker_id: 'w-0',
    connected: true,
    last_seen: NOW_MS / 1_000,
    config_gen: 7,
    applied_config_gen: 7,
    config_revision: 'abc/c0c0c0c0',
    config_changed_at: NOW_MS / 1_000 - 100,
    managed_by: 'own',
    tasks_held: 0,
    ended: false,
    current_stats: stats(),
    ...more,
  } as Row
  return podWorkerOf({ record, epoch: 'e', isStale: false }, { ...CONTEXT, ...context })
}

describe('a worker', () => {
  it('is idle if its newest statistics are of its cordoned config and show no slot and no task', () => {
    expect(seen({})).toMatchObject({ isCordoned: true, isIdle: true, isOwn: true, tasksHeld: 0 })
  })

  it.each<readonly [string, Partial<Row>]>([
    ['holds a task', { tasks_held: 1 }],
    ['does not report its tasks', { tasks_held: null }],
    ['reports a negative number of tasks', { tasks_held: -1 }],
    ['runs a slot', { current_stats: stats({ slots: 1 }) }],
    ['has not acknowledged the cordon', { applied_config_gen: 6 }],
    ['has sent no statistics since the cordon', { current_stats: stats({ config_gen: 6 }) }],
    ['does not report the generation', { current_stats: stats({ config_gen: null }) }],
    ['has sent no statistics', { current_stats: null }],
    ['is not cordoned', { config_revision: 'abc/-' }],
    ['was changed by another client', { config_revision: 'abc/*' }],
    ['has no label', { config_revision: null }],
    ['has been offline for 44 s', { tasks_held: 1, connected: false, last_seen: NOW_MS / 1_000 - 44 }],
  ])('is not idle if it %s', (_, row) => {
    expect(seen(row).isIdle).toBe(false)
  })

  it('is idle once it has been offline for 45 s, or has ended; but only if it is cordoned', () => {
    const offline = { tasks_held: 1, connected: false, last_seen: NOW_MS / 1_000 - 45 }
    expect(seen(offline).isIdle).toBe(true)
    expect(seen({ ...offline, config_revision: 'abc/-' }).isIdle).toBe(false)
    expect(seen({ tasks_held: 1, connected: false, ended: true }).isIdle).toBe(true)
    expect(seen({ tasks_held: 1, connected: true, ended: true }).isIdle).toBe(false)
  })

  it('is idle after the timeout of scale-in, which begins with its cordon', () => {
    const busy = { tasks_held: 3, config_changed_at: NOW_MS / 1_000 - 100 }
    expect(seen(busy, { timeoutMs: 101_000 }).isIdle).toBe(false)
    expect(seen(busy, { timeoutMs: 100_000 }).isIdle).toBe(true)
    expect(seen({ ...busy, config_revision: 'abc/-' }, { timeoutMs: 100_000 }).isIdle).toBe(false)
    expect(seen({ ...busy, config_changed_at: null }, { timeoutMs: 100_000 }).isIdle).toBe(false)
  })

  it('of another manager is not cordoned by the set', () => {
    expect(seen({ managed_by: 'another' }).isOwn).toBe(false)
    expect(seen({ managed_by: null }).isOwn).toBe(true)
  })
})
