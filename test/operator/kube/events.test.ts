import { advanceUntil, runTurns } from '../../kit/index.ts'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { getEventListeners } from 'node:events'
import { FoldingEventRecorder, type EventTarget } from '../../../src/operator/kube/index.ts'
import { EVENTS } from '../fake-apiserver.ts'
import { random, kubeFixture, type KubeFixture } from './fixture.ts'

let w: KubeFixture
let recorder: FoldingEventRecorder
let drops: number
let ended: Promise<void>

beforeEach(async () => {
  w = await kubeFixture(EVENTS)
  drops = 0
  recorder = new FoldingEventRecorder({
    transport: w.transport,
    clock: w.time,
    timers: w.time,
    random: random(),
    log: w.log,
    controller: 'muster.dev/operator',
    instance: 'pod-1',
    onDrop: () => {
      drops += 1
    },
  })
  ended = recorder.run(w.abort.signal)
})
afterEach(async () => {
  w.abort.abort(new Error('over'))
  await ended
  await w.close()
})

const target = (name = 'a', namespace = 'ns'): EventTarget => ({
  apiVersion: 'example.org/v1',
  kind: 'Probe',
  namespace,
  name,
  uid: `uid-${name}`,
})
const events = () => w.fake.store.list(EVENTS, undefined)

async function passes(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await w.time.advance(Math.min(1_000, left))
    await runTurns(8)
  }
}

describe('the event recorder', () => {
  it('creates an Event of events.k8s.io/v1 about the object', async () => {
    recorder.record(target(), 'Warning', 'Rejected', 'no such\nfield')
    await advanceUntil(w.time, 'the Event exists', () => events().length === 1)
    expect(events()[0]).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      type: 'Warning',
      reason: 'Rejected',
      action: 'Rejected',
      note: 'no such field',
      reportingController: 'muster.dev/operator',
      reportingInstance: 'pod-1',
      regarding: { apiVersion: 'example.org/v1', kind: 'Probe', namespace: 'ns', name: 'a', uid: 'uid-a' },
      metadata: { namespace: 'ns' },
    })
    expect(events()[0]?.['eventTime']).toMatch(/\.\d{6}Z$/)
  })

  it.each([
    ['two', 'é'],
    ['three', '€'],
    ['four', '🦊'],
  ])('cuts a note of characters of %s bytes to the 1,024 bytes that the API server accepts', async (_, character) => {
    recorder.record(target(), 'Warning', 'Rejected', `x${character.repeat(600)}`)
    await advanceUntil(w.time, 'the Event exists', () => events().length === 1)
    const note = String(events()[0]?.['note'])
    expect(note).toMatch(new RegExp(`^x${character}+$`, 'u'))
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024)
    expect(Buffer.byteLength(note)).toBeGreaterThan(1_020)
  })

  it('keeps one listener on its signal, however many Events it has recorded', async () => {
    await runTurns()
    const listeners = (): number => getEventListeners(w.abort.signal, 'abort').length
    const before = listeners()
    for (const [at, name] of ['a', 'b', 'c'].entries()) {
      recorder.record(target(name), 'Normal', 'Drift', 'reverted')
      await advanceUntil(w.time, 'the Event exists', () => events().length === at + 1)
      await runTurns()
    }
    expect(listeners()).toBe(before)
  })

  it('aggregates equal Events into a series, written at most every 5 min', async () => {
    for (let minute = 0; minute < 21; minute += 1) {
      recorder.record(target(), 'Normal', 'Drift', 'reverted')
      await passes(60_000)
    }
    expect(events()).toHaveLength(1)
    const patches = w.fake.seen('PATCH')
    expect(patches.length).toBeGreaterThanOrEqual(3)
    expect(patches.length).toBeLessThanOrEqual(4)
    const { count = 0 } = (events()[0]?.['series'] ?? {}) as { count?: number }
    expect(count).toBeGreaterThanOrEqual(16)
  })

  it('writes the final count of an event storm once', async () => {
    for (let index = 0; index < 100; index += 1) recorder.record(target(), 'Normal', 'Drift', 'reverted')
    await passes(20 * 60_000)
    expect(w.fake.seen('PATCH')).toHaveLength(1)
    expect(events()[0]?.['series']).toMatchObject({ count: 100 })
  })

  it('creates a new Event when the API server has deleted the first', async () => {
    recorder.record(target(), 'Normal', 'Drift', 'reverted')
    await advanceUntil(w.time, 'the Event exists', () => events().length === 1)
    w.fake.store.delete({ kind: EVENTS, namespace: 'ns', name: events()[0]?.metadata.name ?? '' }, undefined)
    recorder.record(target(), 'Normal', 'Drift', 'reverted')
    await passes(7 * 60_000)
    expect(events()).toHaveLength(1)
  })

  it('limits an object to 10 Events and then one a minute: event storm', async () => {
    for (let index = 0; index < 30; index += 1) recorder.record(target(), 'Normal', 'Storm', `number ${index}`)
    await passes(10_000)
    expect(events()).toHaveLength(10)
    expect(drops).toBe(20)
    await passes(120_000)
    for (let index = 0; index < 5; index += 1) recorder.record(target(), 'Normal', 'Storm', `later ${index}`)
    await passes(5_000)
    expect(events()).toHaveLength(12)
  })

  it('sends 10 a second in total and queues up to 1,000', async () => {
    for (let index = 0; index < 1_500; index += 1) recorder.record(target(`p${index}`), 'Normal', 'Storm', 'once')
    expect(drops).toBeGreaterThanOrEqual(499)
    await passes(10_000)
    expect(events().length).toBeGreaterThan(40)
    expect(events().length).toBeLessThanOrEqual(112)
  })

  it('logs Events in a namespace that is being deleted', async () => {
    w.fake.store.terminating.add('ns')
    recorder.record(target(), 'Normal', 'Released', 'the claim was released')
    await advanceUntil(w.time, 'it is logged', () => w.log.lines.length === 1)
    expect(w.log.lines[0]).toMatchObject({
      level: 'info',
      message: 'the claim was released',
      fields: { reason: 'Released', object: 'ns/a' },
    })
    expect(drops).toBe(0)
  })

  it('tries three times while the API server is unavailable, then counts a drop and continues', async () => {
    w.fake.script({ method: 'POST' }, { kind: 'refuse', status: 503 }, 3)
    recorder.record(target(), 'Normal', 'One', 'lost')
    recorder.record(target(), 'Normal', 'Two', 'kept')
    await passes(10_000)
    expect(drops).toBe(1)
    expect(events().map(({ reason }) => reason)).toEqual(['Two'])
  })

  it("creates valid names, however long the object's name is", async () => {
    recorder.record(target('x'.repeat(253)), 'Normal', 'Long', 'name')
    await advanceUntil(w.time, 'the Event exists', () => events().length === 1)
    expect(events()[0]?.metadata.name).toHaveLength(253)
  })
})
