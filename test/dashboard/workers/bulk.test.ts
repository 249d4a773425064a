import { describe, expect, it } from '@jest/globals'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { resultsText, type Result } from '../../../src/dashboard/components/results.ts'
import { setAt, typeAt } from '../../../src/dashboard/config/value-draft.ts'
import {
  faultsOf,
  NOTHING_TICKED,
  patchOf,
  schemaOfTicked,
  tick,
  type BulkDraft,
} from '../../../src/dashboard/workers/bulk-fields.ts'
import { runBulk } from '../../../src/dashboard/workers/bulk.ts'
import { firstType, leftOutText, ofType, setsOf, typesOf } from '../../../src/dashboard/workers/bulk-targets.ts'
import { managerOf } from '../../../src/dashboard/workers/managed.ts'
import { row } from './rows.ts'

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `w-${n}`)

describe('runBulk', () => {
  it('runs eight calls at a time and returns a result for each worker', async () => {
    let running = 0
    let most = 0
    const results = await runBulk({
      items: names(20),
      nameOf: (name) => name,
      report: () => {},
      signal: new AbortController().signal,
      act: async (name) => {
        most = Math.max(most, (running += 1))
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        if (name === 'w-3') throw new Problem('not found', { status: 404 })
        if (name === 'w-4') throw new Problem('/slots must be <= 1024', { status: 422 })
        if (name === 'w-5') throw new Problem('no answer')
        return 'forgotten'
      },
    })
    expect(most).toBe(8)
    expect(results.map(({ outcome }) => outcome).slice(2, 8)).toEqual([
      'done',
      'rejected',
      'rejected',
      'unknown',
      'done',
      'done',
    ])
    expect(results[3]?.text).toBe('not found')
    expect(resultsText(results)).toBe('17 done, 2 rejected, 1 unknown')
  })

  it('waits for calls in flight after an abort and skips the rest', async () => {
    const stop = new AbortController()
    const acted: string[] = []
    const seen: (readonly Result[])[] = []
    const results = await runBulk({
      items: names(30),
      nameOf: (name) => name,
      report: (now) => void seen.push(now),
      signal: stop.signal,
      act: async (name) => {
        acted.push(name)
        await new Promise((resolve) => setImmediate(resolve))
        stop.abort()
        return ''
      },
    })
    expect(acted).toHaveLength(8)
    expect(results.filter(({ outcome }) => outcome === 'done')).toHaveLength(8)
    expect(results.filter(({ text }) => text === 'not started')).toHaveLength(22)
    expect(seen[0]?.every(({ outcome }) => outcome === 'waiting')).toBe(true)
  })
})

describe('the fields of a bulk config change', () => {
  const schema = {
    type: 'object',
    required: ['host'],
    $defs: { hosts: { type: 'array', items: { type: 'string' } } },
    properties: {
      enabled: { type: 'boolean' },
      slots: { type: 'integer', default: 1 },
      host: { type: 'string', description: 'Where to.', default: 'a' },
      password: { type: 'string', writeOnly: true },
      hosts: { $ref: '#/$defs/hosts' },
    },
  }
  const ticking = (...fields: readonly string[]): BulkDraft =>
    fields.reduce((bulk, name) => tick(schema, bulk, name), NOTHING_TICKED)

  it('end up in the patch only if ticked, and are faults until they have a valid value', () => {
    const bulk = ticking('hosts', 'password', 'slots', 'enabled')
    expect(bulk.ticked).toEqual(['enabled', 'slots', 'password', 'hosts'])
    const form = schemaOfTicked(schema, bulk.ticked)
    expect(faultsOf(form, bulk).map(({ path }) => path)).toEqual(['/slots', '/password'])
    const typed = { ...bulk, draft: setAt(typeAt(bulk.draft, '/slots', 'integer', 'many'), '/password', 'opensesame') }
    expect(faultsOf(form, typed)).toEqual([
      expect.objectContaining({ path: '/slots', message: 'expected a whole number, got "many"' }),
    ])
    const whole = { ...typed, draft: typeAt(typed.draft, '/slots', 'integer', '4') }
    expect([faultsOf(form, whole), patchOf(whole)]).toEqual([
      [],
      { enabled: false, slots: 4, password: 'opensesame', hosts: [] },
    ])
  })

  it('lose their value when they are unticked', () => {
    const bulk = tick(schema, ticking('enabled', 'hosts'), 'hosts')
    expect([bulk.ticked, patchOf(bulk)]).toEqual([['enabled'], { enabled: false }])
  })
})

describe('the workers of an operation', () => {
  const rows = [
    row('p-1', { automation_type: 'probe' }),
    row('m-1', { managed_by: 'kubernetes:prod/fleetworkersets/crawlers#1' }),
    row('m-2', { managed_by: 'kubernetes:prod/m-2#1' }),
    row('m-3', { managed_by: 'kubernetes:prod/fleetworkersets/crawlers#1' }),
  ]

  it('are those of one type, at first of the most frequent one', () => {
    expect(typesOf(rows)).toEqual([
      { type: 'mailer', count: 3 },
      { type: 'probe', count: 1 },
    ])
    expect([firstType(rows), firstType([])]).toEqual(['mailer', ''])
    expect(ofType(rows, 'probe').map(({ worker_id: id }) => id)).toEqual(['p-1'])
  })

  it('are counted beside those that are left out', () => {
    const unmanaged = row('m-4')
    const selected = [...rows, unmanaged]
    expect(leftOutText(selected, 'mailer', [unmanaged])).toBe(
      'This applies to 1 of 5 selected workers. Left out: 1 of another type, 3 managed elsewhere.',
    )
    expect(leftOutText([unmanaged], 'mailer', [unmanaged])).toBeNull()
  })

  it('lead to the FleetWorkerSets that manage them', () => {
    expect(setsOf(rows)).toEqual([{ name: 'prod/crawlers', count: 2 }])
  })
})

describe('the manager of a config', () => {
  it('is a FleetWorker or a FleetWorkerSet with its namespace and without the suffix, or plain text', () => {
    expect(managerOf('kubernetes:mail/m-7#1234')).toEqual({
      kind: 'kubernetes',
      of: 'FleetWorker',
      namespace: 'mail',
      object: 'm-7',
      name: 'mail/m-7',
    })
    expect(managerOf('kubernetes:mail/fleetworkersets/senders#1234')).toEqual({
      kind: 'kubernetes',
      of: 'FleetWorkerSet',
      namespace: 'mail',
      object: 'senders',
      name: 'mail/senders',
    })
    expect(managerOf('terraform')).toEqual({ kind: 'other', name: 'terraform' })
    expect(managerOf('kubernetes:odd')).toEqual({ kind: 'other', name: 'kubernetes:odd' })
    expect(managerOf('kubernetes:mail/pods/m-7').kind).toBe('other')
  })
})
