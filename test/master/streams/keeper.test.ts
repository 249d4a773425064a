/** Which master trims the output streams (D193), with the memory store. */
import { expect, it } from '@jest/globals'
import { StreamKeeper } from '../../../src/master/streams/keeper.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'

it('the keeper trims streams while it is its turn, and makes capacity always', async () => {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: seededRandom(1) })
  await backend.open(AbortSignal.timeout(5_000))
  let [isMine, looks, failures] = [false, 0, 0]
  const keeper = new StreamKeeper({
    types: ['feed'],
    streams: {
      bytes: async (types) => {
        looks += 1
        return backend.streams.bytes(types)
      },
      trim: (type, maxBytes) => backend.streams.trim(type, maxBytes),
    },
    timers: time,
    random: seededRandom(1),
    isMine: () => isMine,
    onTrimmed: () => {},
    onFailed: () => (failures += 1),
  })
  keeper.start()
  await time.advance(60_000)
  expect(looks).toBe(0)
  await keeper.makeCapacity()
  expect(looks).toBe(1)
  isMine = true
  await time.advance(60_000)
  expect(looks).toBeGreaterThanOrEqual(6)
  await keeper.stop()
  expect(failures).toBe(0)
})
