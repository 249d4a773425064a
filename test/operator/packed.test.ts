import { execFileSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { boundFaults } from '../../src/operator/fleetworker/bounds.ts'
import { keptSpec, whole, type FleetWorkerObject, type FleetWorkerSpec } from '../../src/operator/fleetworker/index.ts'
import { packed, unpacked } from '../../src/operator/packed.ts'

const config = {
  text: 'für alle – 世界 🌍',
  empty: {},
  list: [1, null, 0.5],
  rules: Array.from({ length: 40 }, (_, at) => ({ match: `^/orders/${at}`, action: 'keep' })),
}

describe('packed values', () => {
  it('contain the same value as text, and in fewer bytes while memory is scarce', () => {
    const text = packed(config, false)
    expect([unpacked(text), text]).toEqual([config, JSON.stringify(config)])
    const pack = packed(config, true)
    expect(unpacked(pack)).toEqual(config)
    expect(pack.length).toBeLessThan(JSON.stringify(config).length / 3)
    expect(packed(JSON.parse(JSON.stringify(config)), true)).toBe(pack)
    expect([unpacked(packed({}, true)), unpacked(packed({}, false))]).toEqual([{}, {}])
  })

  it('are compressed in a process that uses more than a quarter of its heap', () => {
    const script = `
      import { packed } from '${new URL('../../src/operator/packed.ts', import.meta.url).href}'
      const before = packed({ a: 1 })
      const held = Array.from({ length: 3_500_000 }, (_, at) => ({ at }))
      process.stdout.write(JSON.stringify([before, packed({ a: 1 })[0], held.length]))`
    const node = ['--max-old-space-size=256', '--input-type=module', '--eval', script]
    expect(JSON.parse(execFileSync(process.execPath, node, { encoding: 'utf8' }))).toEqual(['{"a":1}', '~', 3_500_000])
  })
})

describe('the spec in the cache', () => {
  const spec: FleetWorkerSpec = { type: 'job', slots: 2, config }

  it('has the same value when it is read, without keeping the objects of its config in memory', () => {
    const kept = keptSpec(spec)
    expect([kept.type, kept.slots, kept.config]).toEqual(['job', 2, config])
    expect(Object.keys(kept)).toEqual(['type', 'slots'])
    expect(whole({ spec: kept } as FleetWorkerObject).spec).toEqual(spec)
    expect(Object.keys(whole({ spec: kept } as FleetWorkerObject).spec)).toContain('config')
  })

  it('is unchanged without a config, and drops a config that is too deep (D69)', () => {
    expect(keptSpec({ type: 'job' })).toEqual({ type: 'job' })
    const deep = {
      type: 'job',
      config: JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
    } as FleetWorkerSpec
    const kept = keptSpec(deep)
    expect(kept.type).toBe('job')
    expect(boundFaults({ metadata: { name: 'w' }, spec: kept } as FleetWorkerObject)).toEqual(
      boundFaults({ metadata: { name: 'w' }, spec: deep } as FleetWorkerObject),
    )
  })
})
