/** Runs a storage regression on every backend, each test in its own store. */
import { describe } from '@jest/globals'
import { seededRandom } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { storeFixtures } from '../storage/contract/fixture.ts'
import type { Create, StoreFixture } from '../storage/contract/fixture.ts'
import { withRedisStore } from '../storage/redis/fixture.ts'
import { backendOn, folders } from '../storage/sqlite/fixture.ts'

/** `tests` gets a function that opens a store on a clock. The store is closed after the test. */
export function onEachBackend(name: string, tests: (open: () => Promise<StoreFixture>) => void): void {
  const folder = folders()
  let seed = 0
  const backends: Readonly<Record<string, Create>> = {
    memory: async (clock) => new MemoryBackend({ clock, random: seededRandom((seed += 1)) }),
    sqlite: async (clock) => backendOn(folder().file, clock),
  }
  for (const [backend, create] of Object.entries(backends))
    describe(`${name} (${backend})`, () => tests(storeFixtures(create)))
  withRedisStore(`${name} (redis)`, (create) => describe(`${name} (redis)`, () => tests(storeFixtures(create))))
}
