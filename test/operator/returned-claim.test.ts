/**
 * Tests the whole operator when the claim of a FleetWorker that it saw deleted returns to the worker, as after a late
 * request of a paused master.
 */
import { expect, it } from '@jest/globals'
import type { WorkerBody } from '../../src/protocol/index.ts'
import { eventually } from '../kit/index.ts'
import { FLEET_WORKERS } from './fake-fleet.ts'
import { wholeOperator } from './whole-operator.ts'

const PATH = '/api/v1/automations/mailer/workers/w1'

it('the claim of a deleted FleetWorker that returns to the worker is replaced by the present one', async () => {
  const { declare, fake, master, reasonOf, start } = await wholeOperator(['w1'])
  const claim = async (): Promise<string> => ((await master.call('GET', PATH)).json as WorkerBody).managed_by ?? ''
  declare('w1', 'first')
  await start()
  await eventually(
    'the first has the worker',
    async () => /first/.test(await claim()) && reasonOf('first') === 'InSync',
  )
  const old = await claim()
  fake.store.delete({ kind: FLEET_WORKERS, namespace: 'ns', name: 'first' }, undefined)
  await eventually('the claim is given back', async () => (await claim()) === '')
  declare('w1', 'second')
  await eventually(
    'the second has the worker',
    async () => /second/.test(await claim()) && reasonOf('second') === 'InSync',
  )
  expect((await master.call('PUT', `${PATH}/claim`, { body: { managed_by: old } })).status).toBe(200)
  await eventually('the second has it again', async () => /second/.test(await claim()))
})
