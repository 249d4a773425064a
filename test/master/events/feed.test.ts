import { describe, expect, it } from '@jest/globals'
import { Feed, type Chunk } from '../../../src/master/events/feed.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { happened, range } from './fixture.ts'

const EVERYTHING = { key: '*', sees: () => true }

describe('Feed', () => {
  it('keeps no memory with a chunk but its own bytes (G17)', async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: systemRandom })
    await backend.open(new AbortController().signal)
    const feed = new Feed({
      backend,
      clock: time,
      timers: time,
      epoch: { current: '01234567' },
    } as never)
    feed.start()
    const chunks: Chunk[] = []
    for (const n of range(0, 20)) {
      const position = feed.end
      await backend.events.append([happened(n)])
      await time.advance(50)
      const chunk = feed.chunk(position, EVERYTHING)
      if (chunk !== null) chunks.push(chunk)
    }
    feed.stop()
    const memory = new Set(chunks.map(({ bytes }) => bytes.buffer))
    const keptBytes = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(chunks.map(({ bytes }) => bytes.length)).not.toContain(0)
    expect(keptBytes).toBe(chunks.reduce((sum, { bytes }) => sum + bytes.length, 0))
    await backend.close()
  })
})
