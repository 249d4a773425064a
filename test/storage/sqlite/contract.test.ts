import { afterAll } from '@jest/globals'
import type { EngineHost } from '../../../src/storage/sqlite/host.ts'
import { ThreadHost } from '../../../src/storage/sqlite/host.ts'
import { testBackend } from '../contract.ts'
import { backendOn, folders, THREAD_URL } from './fixture.ts'

const folder = folders()
/** One thread for all tests, because starting one takes longer than most of the tests. */
const thread = new ThreadHost(THREAD_URL)
const shared: EngineHost = {
  open: thread.open,
  run: thread.run,
  maintain: thread.maintain,
  close: (nowMs) => thread.closeEngine(nowMs),
}

afterAll(() => thread.terminate())

testBackend('sqlite', async (clock) => backendOn(folder().file, clock))
testBackend('sqlite in its thread', async (clock) => backendOn(folder().file, clock, { host: shared }))
