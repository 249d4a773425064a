/** Tests what happens to a claim whose FleetWorker is deleted while no operator runs. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { startMasters, World, type Masters } from './world.ts'

/** The first resync does nothing, the second reads the type, the third releases the claim. */
const THREE_SWEEPS_MS = 190_000

let masters: Masters
let world: World
beforeAll(async () => {
  masters = await startMasters()
})
afterEach(() => world.close())
afterAll(() => masters.stop())

it.each([
  ['the last of its type', false],
  ['one of several', true],
])('the next operator releases a claim whose FleetWorker was deleted before: %s', async (_, hasOthers) => {
  world = new World(masters)
  await world.work()
  await world.start()
  if (hasOthers) world.create({ workerId: 'another' }, 'another')
  world.create({ config: { url: 'http://one' } })
  expect(await world.comesTrue(10_000, async () => (await world.managedBy()) !== null)).toBe(true)
  world.kill()
  await world.bury()
  world.remove()
  expect(world.object()).toBeUndefined()
  await world.start()
  const wasGivenBack = await world.comesTrue(THREE_SWEEPS_MS, async () => (await world.managedBy()) === null)
  expect([wasGivenBack, (await world.config())?.['url']]).toEqual([true, 'http://one'])
})
