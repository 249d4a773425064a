/** Tests the acks of a store that an older release wrote. They are remembered by token, without their task (D80). */
import Database from 'better-sqlite3'
import { describe, expect, it } from '@jest/globals'
import { DAY, leasesOf, ManualClock, refOf, registration, sole, task, TYPE, VISIBILITY } from '../contract/fixture.ts'
import type { Backend, LeaseRef } from '../../../src/storage/index.ts'
import { backendOn, folders } from './fixture.ts'

const folder = folders()

async function leased(backend: Backend, id: string): Promise<LeaseRef> {
  await backend.tasks.submit(TYPE, DAY, [task(id)])
  return refOf(
    sole(
      leasesOf(
        sole(
          (await backend.tasks.reserve(TYPE, VISIBILITY, [{ worker: 'w', limit: 1, gen: 0, defaultMaxAttempts: 3 }]))
            .results,
        ),
      ),
    ),
  )
}

describe('a store of an older release', () => {
  it('keeps its acks, and remembers task and token of later acks', async () => {
    const { file } = folder()
    const backend = backendOn(file, new ManualClock())
    await backend.open(AbortSignal.timeout(5_000))
    await backend.workers.register([registration('w', 'm1/1')])
    const first = await leased(backend, 'a')
    await backend.tasks.ack(TYPE, [first])
    await backend.close()

    const db = new Database(file)
    db.exec('UPDATE acked SET bits = substr(bits, 1, 512)')
    db.close()

    await backend.open(AbortSignal.timeout(5_000))
    const second = await leased(backend, 'b')
    expect(await backend.tasks.ack(TYPE, [first, second, { ...second, id: 'x' }])).toEqual(['ok', 'ok', 'lease_lost'])
    await backend.close()
    await backend.open(AbortSignal.timeout(5_000))
    expect(await backend.tasks.ack(TYPE, [first, second, { ...second, id: 'x' }])).toEqual(['ok', 'ok', 'lease_lost'])
    await backend.close()
  }, 20_000)
})
