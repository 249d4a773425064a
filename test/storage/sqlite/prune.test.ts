/** Tests that the idle work deletes large texts in steps of bounded size. */
import { expect, it } from '@jest/globals'
import { Engine } from '../../../src/storage/sqlite/engine.ts'
import { HOUR, ManualClock, SECOND, TYPE, killed, reserve, start, submit, task } from '../contract/fixture.ts'
import { backendOn, folders } from './fixture.ts'

const folder = folders()
const BODY = `{"payload":"${'x'.repeat(262_000)}","priority":0,"submitted_at":1}`
const MANY = Array.from({ length: 80 }, (_, at) => `t${at}`)

it('deletes 20 MiB of cleared tasks and 20 MiB of expired values in steps of about 8 MiB (D84)', async () => {
  const { file } = folder()
  const clock = new ManualClock()
  const backend = backendOn(file, clock)
  await start(backend)
  for (const half of [MANY.slice(0, 40), MANY.slice(40)])
    await killed(backend, ...half.map((id) => task(id, { body: BODY })))
  expect(await backend.tasks.clearDead(TYPE)).toBe(MANY.length)
  await backend.kv.set(
    'ns',
    MANY.map((key) => ({ key, value: BODY, ttlMs: SECOND })),
  )
  await submit(backend, task('live', { body: BODY }))
  await backend.close()

  const engine = new Engine({ path: file, newEpoch: 'unused' })
  engine.open()
  let steps = 1
  while (engine.maintain(clock.wallMs() + HOUR, false)) steps += 1
  engine.close(clock.wallMs() + HOUR)
  expect(steps).toBeGreaterThanOrEqual(3) // One step deletes tasks and values.

  await start(backend)
  expect(await reserve(backend)).toMatchObject([{ id: 'live' }])
  expect(await backend.kv.get('ns', ['t0', 't79'])).toEqual([null, null])
})
