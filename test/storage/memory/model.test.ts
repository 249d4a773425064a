import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'
import { testModel } from '../model/run.ts'

let seed = 0
testModel('memory', { create: async (clock) => new MemoryBackend({ clock, random: seededRandom((seed += 1)) }) })
