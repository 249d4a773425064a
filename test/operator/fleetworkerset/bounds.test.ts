import { describe, expect, it } from '@jest/globals'
import { Buffer } from 'node:buffer'
import type { JsonObject, JsonValue } from '../../../src/protocol/index.ts'
import { setFaults, type FleetWorkerSet, type FleetWorkerSetSpec } from '../../../src/operator/fleetworkerset/index.ts'
import { largestStatus } from './largest.ts'

const set = (spec: Partial<FleetWorkerSetSpec>): FleetWorkerSet => ({
  metadata: { name: 's', namespace: 'prod', uid: 'u', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { type: 'crawler', selector: { idPatterns: ['crawler-*'] }, ...spec },
})
const faults = (spec: Partial<FleetWorkerSetSpec>): readonly string[] => setFaults(set(spec))
const secretSource = (field: string) => ({ field, secretKeyRef: { name: 's', key: 'k' } })
const many = <T>(count: number, each: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => each(index))
const labels = (count: number): Record<string, string> => Object.fromEntries(many(count, (index) => [`k${index}`, 'v']))
const nested = (levels: number): JsonValue => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as JsonValue

describe('setFaults', () => {
  it('finds nothing in a set with the required fields, or with all of them', () => {
    expect(faults({})).toEqual([])
    expect(
      faults({
        selector: { idPatterns: many(16, (index) => `A-z_0.9:?@*-${index}`), matchLabels: labels(16) },
        config: { enabled: true },
        configFrom: [secretSource('b')],
        slots: 1024,
        overrides: many(32, (index) => ({ worker: `w-${index}`, slots: 0, config: { depth: index } })),
        managementPolicy: 'Warn',
        ignoreDifferences: ['/a~1b/0'],
        deletionPolicy: 'Reset',
        suspend: true,
        rollout: { maxUnavailable: 0, ackTimeoutSeconds: 3_600, progressDeadlineSeconds: 3_601 },
        revisionHistoryLimit: 0,
        forgetAfterSeconds: 31_536_000,
        replicas: 50_000,
        workload: { kind: 'Deployment', name: 'crawler.a-0', scaleInTimeoutSeconds: 604_800 },
      }),
    ).toEqual([])
  })

  it('finds faults of workload and replicas', () => {
    const workload = { kind: 'StatefulSet', name: 'w' } as const
    expect(faults({ replicas: 1 })).toEqual(['spec.replicas: needs spec.workload, which says what is scaled'])
    expect(faults({ replicas: 50_001, workload })).toEqual([expect.stringContaining('spec.replicas: must be')])
    expect(faults({ replicas: 1.5, workload })).toEqual([expect.stringContaining('spec.replicas: must be')])
    expect(faults({ workload: { ...workload, kind: 'Job' as never } })).toEqual([
      'spec.workload.kind: must be one of StatefulSet, Deployment',
    ])
    for (const name of ['', 'A', '-a', 'a-', 'a/b', '../x', 'a'.repeat(254)])
      expect(faults({ workload: { ...workload, name } })).toEqual([expect.stringContaining('spec.workload.name')])
    expect(faults({ workload: { ...workload, scaleInTimeoutSeconds: -1 } })).toEqual([
      expect.stringContaining('scaleInTimeoutSeconds: must be'),
    ])
  })

  it('treats null slots as not set, like the validation rules of the API server', () => {
    expect(faults({ slots: 1, config: { slots: null } })).toEqual([])
    expect(faults({ overrides: [{ worker: 'w', slots: 1, config: { slots: null } }] })).toEqual([])
  })

  it('compares the default of one timeout with the value of the other', () => {
    const message = 'progressDeadlineSeconds: must be greater than ackTimeoutSeconds'
    expect(faults({ rollout: { progressDeadlineSeconds: 60 } })).toEqual([expect.stringContaining(message)])
    expect(faults({ rollout: { ackTimeoutSeconds: 600 } })).toEqual([expect.stringContaining(message)])
  })

  it.each(['1%', '9%', '10%', '99%', '100%', 0, 1, 1_000_000])('accepts maxUnavailable %p', (maxUnavailable) => {
    expect(faults({ rollout: { maxUnavailable } })).toEqual([])
  })

  it.each(['0%', '01%', '101%', '10', '%', ' 10%', '10%\n', '', -1, 1.5, 1_000_001, Number.NaN])(
    'rejects maxUnavailable %p',
    (maxUnavailable) => {
      expect(faults({ rollout: { maxUnavailable } })).toEqual([expect.stringContaining('maxUnavailable: must be')])
    },
  )

  it.each<[string, Partial<FleetWorkerSetSpec>, string]>([
    ['an invalid type', { type: '../x' }, 'spec.type'],
    ['an empty selector', { selector: {} }, 'spec.selector: give a pattern'],
    ['empty parts of a selector', { selector: { idPatterns: [], matchLabels: {} } }, 'spec.selector: give a pattern'],
    ['17 patterns', { selector: { idPatterns: many(17, (index) => `a${index}`) } }, 'has 17 patterns, at most 16'],
    ['an empty pattern', { selector: { idPatterns: [''] } }, '"" is no pattern of worker ids'],
    ['a pattern with other characters', { selector: { idPatterns: ['a[b]'] } }, '"a[b]" is no pattern'],
    ['a pattern that ends in a line break', { selector: { idPatterns: ['a\n'] } }, String.raw`"a\n" is no pattern`],
    ['a pattern of 254 characters', { selector: { idPatterns: ['*'.repeat(254)] } }, '…" is no pattern'],
    ['17 labels', { selector: { matchLabels: labels(17) } }, 'has 17 labels, at most 16'],
    ['a key in capitals', { selector: { matchLabels: { Zone: 'a' } } }, '"Zone" is no key of a label'],
    [
      'a key that would reach a prototype',
      { selector: { matchLabels: JSON.parse('{"__proto__":"a"}') as Record<string, string> } },
      '"__proto__" is no key of a label',
    ],
    ['a value with other characters', { selector: { matchLabels: { zone: 'ä' } } }, 'the value of "zone"'],
    ['a value of 64 characters', { selector: { matchLabels: { zone: 'a'.repeat(64) } } }, 'the value of "zone"'],
    [
      'a field in config and configFrom',
      { config: { a: 1 }, configFrom: [secretSource('a')] },
      'is also in spec.config',
    ],
    ['two sources for one field', { configFrom: [secretSource('a'), secretSource('a')] }, 'names "a" twice'],
    ['slots in two places', { slots: 1, config: { slots: 1 } }, 'slots are also in spec.config'],
    ['slots in a source too', { slots: 1, configFrom: [secretSource('slots')] }, 'slots are also in spec.configFrom'],
    ['slots out of range', { slots: -1 }, 'spec.slots: must be an integer'],
    ['a pointer without a slash', { ignoreDifferences: ['a'] }, '"a" is not a JSON pointer'],
    ['33 overrides', { overrides: many(33, (index) => ({ worker: `w${index}` })) }, 'has 33 overrides, at most 32'],
    ['a pattern as a worker', { overrides: [{ worker: 'w-*' }] }, '"w-*" is no id of a worker'],
    ['a worker of 254 characters', { overrides: [{ worker: 'a'.repeat(254) }] }, '…" is no id of a worker'],
    ['a worker that would leave its path', { overrides: [{ worker: '..' }] }, '".." is no id of a worker'],
    ['two overrides of a worker', { overrides: [{ worker: 'w' }, { worker: 'w' }] }, 'spec.overrides: names "w" twice'],
    ['slots twice in an override', { overrides: [{ worker: 'w', slots: 1, config: { slots: 1 } }] }, 'set them once'],
    [
      'slots of an override out of range',
      { overrides: [{ worker: 'w', slots: 1025 }] },
      '"w": slots: must be an integer',
    ],
    [
      'a forbidden key in an override',
      { overrides: [{ worker: 'w', config: JSON.parse('{"a":{"__proto__":1}}') as JsonObject }] },
      '"w": config/a/__proto__: ',
    ],
    [
      'an integer of an override that a double cannot represent',
      { overrides: [{ worker: 'w', config: JSON.parse('{"a":9007199254740993}') as JsonObject }] },
      '"w": config/a: is an integer outside',
    ],
    ['an acknowledgement timeout below 35 s', { rollout: { ackTimeoutSeconds: 34 } }, 'from 35 to 3600'],
    [
      'an acknowledgement timeout above an hour',
      { rollout: { ackTimeoutSeconds: 3_601, progressDeadlineSeconds: 86_400 } },
      'from 35 to 3600',
    ],
    ['a deadline above a day', { rollout: { progressDeadlineSeconds: 86_401 } }, 'from 36 to 86400'],
    ['a deadline that is no number', { rollout: { progressDeadlineSeconds: 600.5 } }, 'from 36 to 86400'],
    ['more revisions than the history may have', { revisionHistoryLimit: 33 }, 'from 0 to 32'],
    ['a negative time to forget', { forgetAfterSeconds: -1 }, 'spec.forgetAfterSeconds: must be an integer'],
    ['a time to forget above a year', { forgetAfterSeconds: 31_536_001 }, 'from 0 to 31536000'],
  ])('reports %s', (_, spec, message) => {
    expect(faults(spec)).toEqual([expect.stringContaining(message)])
  })

  it('reports a config that is too deep or too large, in the spec and in an override', () => {
    const large: JsonObject = { a: 'x'.repeat(262_144) }
    expect(
      faults({ config: { a: nested(10_000) }, overrides: [{ worker: 'w', config: { a: nested(10_000) } }] }),
    ).toEqual([
      'spec.config: is nested deeper than 64 levels',
      'spec.overrides: "w": config: is nested deeper than 64 levels',
    ])
    expect(faults({ config: large, overrides: [{ worker: 'w', config: large }] })).toEqual([
      expect.stringContaining('spec.config: takes'),
      expect.stringContaining('spec.overrides: "w": config: takes'),
    ])
  })

  it('reports a hostile set in bounded text, and in time that does not grow with its square', () => {
    const found = faults({
      selector: { idPatterns: many(16, () => `${'*'.repeat(100_000)}!`), matchLabels: labels(100_000) },
      overrides: many(100_000, () => ({ worker: '..' })),
    })
    expect(found).toHaveLength(18)
    expect(found.join('\n').length).toBeLessThan(8_192)
  })
})

describe('the largest status', () => {
  it('takes less than 64 KiB in ASCII', () => {
    expect(Buffer.byteLength(JSON.stringify(largestStatus()))).toBeLessThan(65_536)
  })
})
