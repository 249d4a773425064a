import { describe, expect, it } from '@jest/globals'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { resultsText, type Result } from '../../../src/dashboard/components/results.ts'
import { propertiesOf } from '../../../src/dashboard/config/schema.ts'
import { setAt, typeAt } from '../../../src/dashboard/config/value-draft.ts'
import {
  faultsOf,
  NOTHING_TICKED,
  patchOf,
  schemaOfMany,
  schemaOfTicked,
  tick,
  type BulkDraft,
} from '../../../src/dashboard/workers/bulk-fields.ts'
import { runBulk } from '../../../src/dashboard/workers/bulk.ts'
import { managerOf } from '../../../src/dashboard/workers/managed.ts'

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
        if (name === 'w-3') throw new Problem('stale', { status: 412 })
        if (name === 'w-4') throw new Problem('/slots must be <= 1024', { status: 422 })
        if (name === 'w-5') throw new Problem('no answer')
        return name === 'w-6' ? { kind: 'skipped', text: 'managed' } : { kind: 'done', text: 'saved' }
      },
    })
    expect(most).toBe(8)
    expect(results.map(({ outcome }) => outcome).slice(2, 8)).toEqual([
      'done',
      'rejected',
      'rejected',
      'unknown',
      'skipped',
      'done',
    ])
    expect(results[3]?.text).toBe('its config was changed in the meantime; nothing was saved')
    expect(resultsText(results)).toBe('16 done, 1 skipped, 2 rejected, 1 unknown')
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
        return { kind: 'done', text: '' }
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

  it('are those of the type, or the common ones for several types', () => {
    expect(schemaOfMany(schema)).toBe(schema)
    expect(Object.keys(propertiesOf(schemaOfMany(undefined)))).toEqual([
      'enabled',
      'slots',
      'max_attempts',
      'recycle_seconds',
    ])
  })

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
