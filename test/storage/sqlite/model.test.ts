import { VirtualTime } from '../../../src/runtime/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { testModel } from '../model/run.ts'
import { backendOn, folders } from './world.ts'

const folder = folders()
const timers = new WeakMap<Backend, VirtualTime>()

testModel('sqlite', {
  create: async (clock) => {
    const time = new VirtualTime()
    const backend = backendOn(folder().file, clock, { time })
    timers.set(backend, time)
    return backend
  },
  // Two ticks without a change, and the store tidies up.
  idle: async (backend) => timers.get(backend)?.advance(2_000),
})
