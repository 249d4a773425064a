import { describe, expect, it } from '@jest/globals'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { resultsText, type Result } from '../../../src/dashboard/parts/results.ts'
import { bulkFields, patchOf, readField } from '../../../src/dashboard/workers/bulk-fields.ts'
import { runBulk } from '../../../src/dashboard/workers/bulk.ts'
import { managerOf } from '../../../src/dashboard/workers/managed.ts'

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `w-${n}`)

describe('an act on many workers', () => {
  it('runs eight at a time and tells what became of each', async () => {
    let running = 0
    let most = 0
    const results = await runBulk({
      items: names(20), nameOf: (name) => name, report: () => {}, signal: new AbortController().signal,
      act: async (name) => {
        most = Math.max(most, running += 1)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        if (name === 'w-3') throw new Problem('stale', { status: 412 })
        if (name === 'w-4') throw new Problem('/slots must be <= 1024', { status: 422 })
        if (name === 'w-5') throw new Problem('no answer')
        return name === 'w-6' ? { skipped: 'managed' } : { done: 'saved' }
      },
    })
    expect(most).toBe(8)
    expect(results.map(({ outcome }) => outcome).slice(2, 8)).toEqual(['done', 'refused', 'refused', 'unknown', 'skipped', 'done'])
    expect(results[3]?.text).toBe('somebody else changed its config just now; nothing was saved')
    expect(resultsText(results)).toBe('16 done, 1 left out, 2 refused, 1 unknown')
  })

  it('can be stopped: what is on its way is awaited, the rest is left out', async () => {
    const stop = new AbortController()
    const acted: string[] = []
    const seen: (readonly Result[])[] = []
    const results = await runBulk({
      items: names(30), nameOf: (name) => name, report: (now) => void seen.push(now), signal: stop.signal,
      act: async (name) => {
        acted.push(name)
        await new Promise((resolve) => setImmediate(resolve))
        stop.abort()
        return { done: '' }
      },
    })
    expect(acted).toHaveLength(8)
    expect(results.filter(({ outcome }) => outcome === 'done')).toHaveLength(8)
    expect(results.filter(({ text }) => text === 'stopped before its turn')).toHaveLength(22)
    expect(seen[0]?.every(({ outcome }) => outcome === 'waiting')).toBe(true)
  })
})

describe('the fields of a change of many configs', () => {
  const schema = { type: 'object', properties: { enabled: { type: 'boolean' }, slots: { type: 'integer' }, rate: { type: 'number' }, host: { type: 'string', description: 'Where to.' }, password: { type: 'string', writeOnly: true }, hosts: { type: 'array' } } }

  it('are those of the one type, or those that every config has', () => {
    expect(bulkFields(schema).map(({ name, kind, secret }) => [name, kind, secret])).toEqual([
      ['enabled', 'boolean', false], ['slots', 'integer', false], ['rate', 'number', false], ['host', 'string', false], ['password', 'string', true], ['hosts', 'json', false],
    ])
    expect(bulkFields(undefined).map(({ name }) => name)).toEqual(['enabled', 'slots', 'max_attempts', 'recycle_seconds'])
  })

  it('make a patch of the ticked ones alone, once each can be read', () => {
    const fields = bulkFields(schema)
    expect(patchOf(fields, new Map([['enabled', 'true'], ['slots', '4'], ['rate', '1.5'], ['host', ''], ['hosts', '["a"]']]))).toEqual({ patch: { enabled: true, slots: 4, rate: 1.5, host: '', hosts: ['a'] }, faults: new Map() })
    const { patch, faults } = patchOf(fields, new Map([['slots', '4.5'], ['rate', ''], ['hosts', '[']]))
    expect([patch, [...faults.keys()]]).toEqual([{}, ['slots', 'rate', 'hosts']])
    expect(readField({ name: 'slots', kind: 'integer', secret: false, about: '' }, 'x')).toEqual({ fault: 'expected a whole number, got "x"' })
  })
})

describe('who manages a config', () => {
  it('is a FleetWorker with its namespace, without the suffix, or a text', () => {
    expect(managerOf('kubernetes:mail/m-7#1234')).toEqual({ kind: 'kubernetes', namespace: 'mail', object: 'm-7', name: 'mail/m-7' })
    expect(managerOf('terraform')).toEqual({ kind: 'other', name: 'terraform' })
    expect(managerOf('kubernetes:odd')).toEqual({ kind: 'other', name: 'kubernetes:odd' })
  })
})
