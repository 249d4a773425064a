import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parseFilter } from '../../../src/dashboard/workers/filter.ts'
import type { WorkerRow } from '../../../src/dashboard/workers/row.ts'
import { NOW, row } from './rows.ts'

const found = (text: string, rows: readonly WorkerRow[]): string[] =>
  rows.filter((each) => parseFilter(text).matches(each, NOW)).map(({ worker_id: id }) => id)

const FLEET = [
  row('m-7', { last_error: 'ECONNREFUSED smtp:465', state: 'ERROR' }),
  row('m-8', { connected: false, last_seen: NOW - 300 }),
  row('p-1', {
    automation_type: 'probe',
    hardware: { hostname: 'edge one' },
    current_stats: { slots: 8, cpu_pct: 91.5, rss_mb: 2_048, ts: NOW },
    labels: { zone: 'us-1' },
    config_revision: '91bc02f7a1c4/-',
    managed_by: 'kubernetes:prod/fleetworkersets/probes#1a2b3c4d',
  }),
  row('p-2', {
    automation_type: 'probe',
    managed_by: 'kubernetes:mail/p-2',
    config_gen: 3,
    applied_config_gen: 2,
    config: { enabled: false, slots: 0 },
    current_stats: null,
  }),
  row('late', {
    config_revision: '7f3ac1d09b2e/*',
    managed_by: 'kubernetes:test/fleetworkersets/probes#5e6f7a8b',
    last_seen: NOW - 60,
    labels: { zone: 'eu-1', rack: 'a b' },
  }),
]

describe('the filter of workers', () => {
  it.each([
    ['', ['m-7', 'm-8', 'p-1', 'p-2', 'late']],
    ['M-7', ['m-7']],
    ['econnrefused', ['m-7']],
    ['"edge one"', ['p-1']],
    ['edge one', ['p-1']],
    ['edge -one', []],
    ['"smtp:465"', ['m-7']],
    ['type:probe', ['p-1', 'p-2']],
    ['type:mailer,probe p-', ['p-1', 'p-2']],
    ['state:error,offline', ['m-7', 'm-8']],
    ['state:LATE', ['late']],
    ['-state:running', ['m-7', 'm-8', 'late']],
    ['online:no', ['m-8']],
    ['-online:no type:mailer', ['m-7', 'late']],
    ['enabled:no', ['p-2']],
    ['behind:yes', ['p-2']],
    ['managed:yes', ['p-1', 'p-2', 'late']],
    ['managed:no type:mailer', ['m-7', 'm-8']],
    ['managed:mail/p-2', ['p-2']],
    ['label:zone=eu-1', ['late']],
    ['label:zone=eu-1,us-1', ['p-1', 'late']],
    ['label:ZONE', ['p-1', 'late']],
    ['label:"rack=a b"', ['late']],
    ['label:zone=', []],
    ['label:constructor', []],
    ['-label:zone type:probe', ['p-2']],
    ['revision:91bc02f7', ['p-1']],
    ['revision:91BC02F7A1C4,7f3a', ['p-1', 'late']],
    ['-revision:91bc type:probe', ['p-2']],
    ['set:probes', ['p-1', 'late']],
    ['set:prod/probes', ['p-1']],
    ['set:prod', []],
    ['set:p-2', []],
    ['error:yes', ['m-7']],
    ['cpu:>90', ['p-1']],
    ['cpu:>90%', ['p-1']],
    ['rss:>=2gb', ['p-1']],
    ['rss:<101', ['m-7', 'late']],
    ['slots:8', ['p-1']],
    ['slots:0', ['p-2']],
    ['seen:>30s', ['m-8', 'late']],
    ['seen:>2m', ['m-8']],
    ['seen:<1h', ['m-7', 'm-8', 'p-1', 'p-2', 'late']],
  ])('%s', (text, expected) => {
    expect(parseFilter(text).faults).toEqual([])
    expect(found(text, FLEET)).toEqual(expected)
  })

  it.each([
    ['stat:error', 'Unknown filter "stat:". Available: type, state,'],
    ['http://host', 'To search for the text, quote it.'],
    ['state:broken', '"state:" takes idle, running, error, draining, offline, late, not "broken".'],
    ['state:', '"state:" takes idle'],
    ['type:', '"type:" takes automation types'],
    ['online:maybe', '"online:" takes yes or no, not "maybe".'],
    ['cpu:high', '"cpu:" takes a number, for example cpu:>10%, not "high".'],
    ['seen:>3weeks', '"seen:" takes a number, for example seen:>10s, not ">3weeks".'],
    ['revision:', '"revision:" takes the beginning of a revision'],
    ['set:,', '"set:" takes the name of a FleetWorkerSet'],
    ['managed:', '"managed:" takes yes, no or the name of a manager.'],
  ])('reports the fault in %s and applies the rest of the filter', (text, fault) => {
    expect(parseFilter(text).faults.join(' ')).toContain(fault)
    expect(found(`m-7 ${text}`, FLEET)).toEqual(['m-7'])
  })

  it('finds the same rows as a naive text search', () => {
    const word = fc.stringMatching(/^[a-z0-9.]{1,3}$/)
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 3 }),
        fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }), { maxLength: 5 }),
        (words, ids) => {
          const rows = ids.map((id) => row(id))
          const naive = rows.filter((each) =>
            words.every((one) => `${each.worker_id}\nmailer\nnode-12\n`.toLowerCase().includes(one)),
          )
          expect(found(words.join(' '), rows)).toEqual(naive.map(({ worker_id: id }) => id))
        },
      ),
    )
  })

  it('never throws, and a minus finds exactly the other rows', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        parseFilter(text).matches(row('x'), NOW)
      }),
    )
    for (const text of ['state:running', 'cpu:>50', 'm-7', 'managed:yes'])
      expect([...found(text, FLEET), ...found(`-${text}`, FLEET)].toSorted()).toEqual(
        FLEET.map(({ worker_id: id }) => id).toSorted(),
      )
  })
})
