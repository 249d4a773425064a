/**
 * A whole master over HTTP on each of the stores. The test moves its clock and timers; threads and servers of the
 * stores run in real time.
 */
import { afterEach, describe } from '@jest/globals'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { ManualClock, type Create } from '../storage/contract/fixture.ts'
import { withRedisStore } from '../storage/redis/fixture.ts'
import { backendOn, folders } from '../storage/sqlite/fixture.ts'
import { startTestMaster, type TestMaster } from '../kit/running-master.ts'

export interface StoredMaster {
  readonly master: TestMaster
  /** Advances the clock and fires the timers of the master that are due. */
  readonly advance: (ms: number) => Promise<void>
}

/** Runs `tests` on each store. They get a function that opens a master, which is stopped after the test. */
export function onEachStore(name: string, tests: (open: () => Promise<StoredMaster>) => void): void {
  describe(`${name} (memory)`, () =>
    tests(opener(async (clock) => new MemoryBackend({ clock, random: seededRandom(1) }))))
  describe(`${name} (sqlite)`, () => {
    let file = (): string => ''
    tests(opener(async (clock) => backendOn(file(), clock)))
    const folder = folders() // Registered after the hook that stops the master.
    file = () => folder().file
  })
  withRedisStore(`${name} (redis)`, (create) => describe(`${name} (redis)`, () => tests(opener(create))))
}

function opener(create: Create): () => Promise<StoredMaster> {
  const masters: TestMaster[] = []
  afterEach(async () => {
    await Promise.all(masters.splice(0).map((master) => master.stop()))
  })
  return async () => {
    const clock = new ManualClock()
    const time = new VirtualTime()
    const master = await startTestMaster({ clock, timers: time, backend: await create(clock) })
    masters.push(master)
    return {
      master,
      advance: (ms) => {
        clock.advance(ms)
        return time.advance(ms)
      },
    }
  }
}
