/** Checks that the examples of the author's guide equal these files, and runs them. */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { runBatchSlot, runContinuousSlot } from '../../src/automation/index.ts'
import { heartbeat } from './examples/heartbeat.ts'
import { thumbnail } from './examples/thumbnail.ts'
import { World } from './world.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const README = read('../../src/automation/README.md')

describe("the author's guide", () => {
  it.each(['thumbnail', 'heartbeat'])('contains the example %s', (name) => {
    const example = read(`examples/${name}.ts`).replace("'../../../src/automation/index.ts'", "'muster/automation'")
    expect(README).toContain(`\`\`\`ts ${name}.ts\n${example}\`\`\`\n`)
  })

  it('has a batch example that claims a proxy, emits and releases the proxy', async () => {
    const world = new World(thumbnail)
    world.results.set('pool.claim', () => ({
      claims:
        world.calls.length === 1
          ? [{ id: 'p', token: 1, payload: { host: 'a' }, tags: { region: 'eu' }, in_use_until: 0 }]
          : [],
    }))
    world.results.set('pool.release', () => ({}))
    const done = runBatchSlot(world.entry, world.control, world.source, world.ports)
    world.offer('first', { url: 'https://example.com/a.png' })
    world.offer('second', { url: 'https://example.com/b.png' })
    await world.time.advance(0)
    world.stop()
    await done
    expect(world.outputs).toEqual([{ url: 'https://example.com/a.png', bytes: 8_001 }])
    expect(world.settled).toEqual(['ack first', 'nack second no free proxy {"retryInMs":5000}'])
    expect(world.calls.map(({ method }) => method)).toEqual(['pool.claim', 'pool.release', 'pool.claim'])
  })

  it('has a continuous example that emits at the interval of its newest config', async () => {
    const world = new World(heartbeat)
    let beats = 0
    world.results.set('counter.add', () => ({ value: (beats += 1) }))
    const done = runContinuousSlot(world.entry, world.control, world.ports)
    await world.time.advance(65_000)
    expect(world.outputs).toEqual([{ beat: 1 }, { beat: 2 }, { beat: 3 }])
    world.config = world.applied({ interval_seconds: 5 })
    await world.time.advance(40_000)
    expect(world.outputs).toHaveLength(7)
    world.stop()
    await done
    expect(world.errors).toEqual([])
  })
})
