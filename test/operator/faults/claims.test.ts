/** Tests what happens to a claim whose FleetWorker is deleted while no operator runs. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { startMasters, FaultFixture, type Masters } from './fixture.ts'

/** The first resync does nothing, the second reads the type, the third releases the claim. */
const THREE_SWEEPS_MS = 190_000

let masters: Masters
let fixture: FaultFixture
beforeAll(async () => {
  masters = await startMasters()
})
afterEach(() => fixture.close())
afterAll(() => masters.stop())

it.each([
  ['the last of its type', false],
  ['one of several', true],
])('the next operator releases a claim whose FleetWorker was deleted before: %s', async (_, hasOthers) => {
  fixture = new FaultFixture(masters)
  await fixture.work()
  await fixture.start()
  if (hasOthers) fixture.create({ workerID: 'another' }, 'another')
  fixture.create({ config: { url: 'http://one' } })
  expect(await fixture.comesTrue(10_000, async () => (await fixture.managedBy()) !== null)).toBe(true)
  fixture.kill()
  await fixture.closeKilled()
  fixture.remove()
  expect(fixture.object()).toBeUndefined()
  await fixture.start()
  const wasGivenBack = await fixture.comesTrue(THREE_SWEEPS_MS, async () => (await fixture.managedBy()) === null)
  expect([wasGivenBack, (await fixture.config())?.['url']]).toEqual([true, 'http://one'])
})
