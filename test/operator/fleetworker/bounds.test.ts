import { describe, expect, it } from '@jest/globals'
import type { JsonValue } from '../../../src/protocol/index.ts'
import { valueFaults } from '../../../src/operator/config/index.ts'
import { boundFaults, type FleetWorkerSpec } from '../../../src/operator/fleetworker/index.ts'
import { fleetWorker } from './samples.ts'

const faults = (spec: Partial<FleetWorkerSpec>): readonly string[] => boundFaults(fleetWorker(spec))
const nested = (levels: number): JsonValue => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as JsonValue
const secretSource = (field: string) => ({ field, secretKeyRef: { name: 's', key: 'k' } })

describe('boundFaults', () => {
  it('finds nothing in a complete valid spec', () => {
    const spec = {
      workerID: 'a:b@c',
      config: { a: 1 },
      configFrom: [secretSource('b')],
      slots: 4,
      ignoreDifferences: ['/a~1b/0', '/c~0'],
    }
    expect(faults(spec)).toEqual([])
  })

  it('treats null slots as not set, like the validation rule of the API server', () => {
    expect(faults({ slots: 1, config: { slots: null } })).toEqual([])
  })

  it.each<[string, Partial<FleetWorkerSpec>, string]>([
    ['an invalid type', { type: 'Http' }, 'spec.type'],
    ['a worker ID that would leave its path', { workerID: '..' }, 'spec.workerID'],
    ['an ID under both names', { workerID: 'a', workerId: 'a' }, 'has both workerID and workerId, its old name'],
    ['a state under both names', { desiredState: 'Running', drain: false }, 'has both desiredState and drain'],
    [
      'a source without a reference',
      { configFrom: [{ field: 'a' }] },
      'must name one of secretKeyRef and configMapKeyRef',
    ],
    [
      'a source with two references',
      { configFrom: [{ ...secretSource('a'), configMapKeyRef: { name: 'c', key: 'k' } }] },
      'must name one of',
    ],
    [
      'a format under both names',
      { configFrom: [{ ...secretSource('a'), format: 'JSON', as: 'JSON' }] },
      'has both format and as, its old name',
    ],
    ['a source for a reserved name', { configFrom: [secretSource('__proto__')] }, 'may not be the name of a field'],
    ['two sources for one field', { configFrom: [secretSource('a'), secretSource('a')] }, 'names "a" twice'],
    [
      'a field in config and configFrom',
      { config: { a: 1 }, configFrom: [secretSource('a')] },
      'is also in spec.config',
    ],
    ['slots in two places', { slots: 1, config: { slots: 1 } }, 'slots are also in spec.config'],
    ['slots in a source too', { slots: 1, configFrom: [secretSource('slots')] }, 'slots are also in spec.configFrom'],
    ['slots out of range', { slots: 1.5 }, 'spec.slots: must be an integer'],
    ['a pointer without a slash', { ignoreDifferences: ['a'] }, '"a" is not a JSON pointer'],
    ['a pointer past the end of an array', { ignoreDifferences: ['/a/-'] }, '"/a/-" is not a JSON pointer'],
    ['a pointer with a broken escape', { ignoreDifferences: ['/a~2'] }, '"/a~2" is not a JSON pointer'],
  ])('reports %s', (_, spec, message) => {
    expect(faults(spec)).toEqual([expect.stringContaining(message)])
  })
})

describe('valueFaults', () => {
  it('allows 64 levels and reports the 65th, however deep the value is', () => {
    expect(valueFaults({ a: nested(63) }, 'c')).toEqual([])
    expect(valueFaults({ a: nested(64) }, 'c')).toEqual(['c: is nested deeper than 64 levels'])
    expect(valueFaults(nested(10_000), 'c')).toEqual(['c: is nested deeper than 64 levels'])
  })

  it('allows 256 KiB and rejects one byte more', () => {
    const value = (bytes: number): JsonValue => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    expect(valueFaults(value(262_144), 'c')).toEqual([])
    expect(valueFaults(value(262_145), 'c')).toEqual(['c: takes 262145 bytes, at most 262144 are allowed'])
  })

  it('reports integers that a double cannot represent, at any depth', () => {
    expect(valueFaults(JSON.parse('{"a":[9007199254740991,1.5]}') as JsonValue, 'c')).toEqual([])
    expect(
      valueFaults(JSON.parse('{"a":[9007199254740993],"b/c":-1e300}') as JsonValue, 'c').map(
        (each) => each.split(':')[0],
      ),
    ).toEqual(['c/a/0', 'c/b~1c'])
  })

  it('reports keys that would reach a prototype', () => {
    expect(valueFaults(JSON.parse('{"a":{"__proto__":{"x":1}}}') as JsonValue, 'c')).toEqual([
      expect.stringContaining('c/a/__proto__: '),
    ])
  })
})
