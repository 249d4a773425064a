import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Feed, type Chunk } from '../../../src/master/events/feed.ts'
import { MAX_EVENTS_BEHIND } from '../../../src/protocol/index.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { happened, range } from './fixture.ts'

const EVERYTHING = { key: '*', sees: () => true, isBatched: false }
const WAKE_MS = 50

let time: VirtualTime
let backend: MemoryBackend
let feed: Feed

beforeEach(async () => {
  time = new VirtualTime()
  backend = new MemoryBackend({ clock: time, random: systemRandom })
  await backend.open(new AbortController().signal)
  feed = new Feed({
    backend,
    clock: time,
    timers: time,
    epoch: { current: '01234567' },
  } as never)
  feed.start()
})
afterEach(async () => {
  feed.stop()
  await backend.close()
})

/** Appends an event, and returns the chunk that a reader sends for it. */
async function sent(n: number): Promise<Chunk | null> {
  const position = feed.end
  await backend.events.append([happened(n)])
  await time.advance(WAKE_MS)
  return feed.chunk(position, EVERYTHING)
}

/** Resolves after a collection of garbage. */
async function collected(): Promise<void> {
  setFlagsFromString('--expose-gc')
  await new Promise((resolve) => void setImmediate(resolve)) // A WeakRef keeps its target until the end of the turn.
  ;(runInNewContext('gc') as () => void)()
}

describe('Feed', () => {
  it('keeps no memory with a chunk but its own bytes (G17)', async () => {
    const chunks: Chunk[] = []
    for (const n of range(0, 20)) {
      const chunk = await sent(n)
      if (chunk !== null) chunks.push(chunk)
    }
    const memory = new Set(chunks.map(({ bytes }) => bytes.buffer))
    const keptBytes = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(chunks.map(({ bytes }) => bytes.length)).not.toContain(0)
    expect(keptBytes).toBe(chunks.reduce((sum, { bytes }) => sum + bytes.length, 0))
  })

  it('keeps only chunks of events that a reader can still reach (G17)', async () => {
    const chunks: WeakRef<Chunk>[] = []
    for (const n of range(0, MAX_EVENTS_BEHIND + 100)) {
      const chunk = await sent(n)
      if (chunk !== null) chunks.push(new WeakRef(chunk))
    }
    await collected()
    const kept = chunks.map((chunk) => chunk.deref() !== undefined)
    expect(kept.length).toBe(MAX_EVENTS_BEHIND + 100)
    expect(kept.slice(0, 100)).not.toContain(true)
    expect(kept.slice(101)).not.toContain(false)
  })
})
