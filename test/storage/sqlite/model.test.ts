import { VirtualTime } from '../../../src/runtime/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { testModel } from '../model/run.ts'
import { backendOn, folders } from './fixture.ts'

const folder = folders()
const timers = new WeakMap<Backend, VirtualTime>()

testModel('sqlite', {
  create: async (clock) => {
    const time = new VirtualTime()
    const backend = backendOn(folder().file, clock, { time })
    timers.set(backend, time)
    return backend
  },
  // The idle work starts after two ticks without a change.
  idle: async (backend) => timers.get(backend)?.advance(2_000),
})
