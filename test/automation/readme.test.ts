/** Checks that the examples of the author's guide equal these files, and runs them. */
import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { runBatchSlot, runContinuousSlot } from '../../src/automation/index.ts'
import { heartbeat } from './examples/heartbeat.ts'
import { thumbnail } from './examples/thumbnail.ts'
import { SlotFixture } from './slot-fixture.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const README = read('../../src/automation/README.md')

describe("the author's guide", () => {
  it.each(['thumbnail', 'heartbeat'])('contains the example %s', (name) => {
    const example = read(`examples/${name}.ts`).replace("'../../../src/automation/index.ts'", "'muster/automation'")
    expect(README).toContain(`\`\`\`ts ${name}.ts\n${example}\`\`\`\n`)
  })

  it('has a batch example that claims a proxy, emits and releases the proxy', async () => {
    const fixture = new SlotFixture(thumbnail)
    fixture.results.set('pool.claim', () => ({
      claims:
        fixture.calls.length === 1
          ? [{ id: 'p', token: 1, payload: { host: 'a' }, tags: { region: 'eu' }, in_use_until: 0 }]
          : [],
    }))
    fixture.results.set('pool.release', () => ({}))
    const done = runBatchSlot(fixture.entry, fixture.control, fixture.source, fixture.ports)
    fixture.offer('first', { url: 'https://example.com/a.png' })
    fixture.offer('second', { url: 'https://example.com/b.png' })
    await fixture.time.advance(0)
    fixture.stop()
    await done
    expect(fixture.outputs).toEqual([{ url: 'https://example.com/a.png', bytes: 8_001 }])
    expect(fixture.settled).toEqual(['ack first', 'nack second no free proxy {"retryInMs":5000}'])
    expect(fixture.calls.map(({ method }) => method)).toEqual(['pool.claim', 'pool.release', 'pool.claim'])
  })

  it('has a continuous example that emits at the interval of its newest config', async () => {
    const fixture = new SlotFixture(heartbeat)
    let beats = 0
    fixture.results.set('counter.add', () => ({ value: (beats += 1) }))
    const done = runContinuousSlot(fixture.entry, fixture.control, fixture.ports)
    await fixture.time.advance(65_000)
    expect(fixture.outputs).toEqual([{ beat: 1 }, { beat: 2 }, { beat: 3 }])
    fixture.config = fixture.applied({ interval_seconds: 5 })
    await fixture.time.advance(40_000)
    expect(fixture.outputs).toHaveLength(7)
    fixture.stop()
    await done
    expect(fixture.errors).toEqual([])
  })
})
