import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'
import { testBackend } from '../contract.ts'

let seed = 0
testBackend('memory', async (clock) => new MemoryBackend({ clock, random: seededRandom((seed += 1)) }))
