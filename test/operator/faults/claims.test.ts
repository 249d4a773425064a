/** What becomes of a claim whose FleetWorker goes while no operator runs. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { startMasters, World, type Masters } from './world.ts'

/** The first sweep is quiet, the second reads the type, the third looks. */
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
])('a claim is given back by the next operator: its FleetWorker was %s', async (_, hasOthers) => {
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
