/** Runs the worker that was written from the page against a real master, so that the kit is not its only judge. */
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifestText } from '../../src/worker-test/index.ts'
import { Fleet } from '../e2e/fleet.ts'
import { eventually } from '../kit/index.ts'

const TYPE = 'worker-test'
const MINIMAL = join(process.cwd(), 'test/worker-test/minimal-worker.mjs')

let fleet: Fleet
beforeEach(() => {
  fleet = new Fleet()
})
afterEach(() => fleet.stop())

it('runs, retries and dead-letters tasks, emits, drains and exits with 0', async () => {
  const manifest = join(fleet.directory, 'worker-test.automation.yaml')
  writeFileSync(manifest, manifestText())
  await fleet.startMaster({ SVC_AUTOMATIONS: manifest })
  const worker = fleet.startForeignWorker([process.execPath, MINIMAL], TYPE, 'wörker 1#?')
  const path = `/automations/${TYPE}`
  const id = encodeURIComponent('wörker 1#?')
  await fleet.configure(TYPE, id, { enabled: true, slots: 2, label: 'hello' })
  const tasks = [
    { payload: { do: 'echo', value: '\u0000é🎉' } },
    { payload: { do: 'fail', error: 'no such file' }, max_attempts: 2, retry: { base_seconds: 0.1 } },
    { payload: { do: 'sleep', seconds: 4 } },
  ]
  await fleet.ok('POST', `${path}/tasks/batch`, { tasks })
  const outputs: unknown[] = []
  await eventually(
    'the outputs have arrived',
    async () => {
      const popped = await fleet.ok<{ payload: unknown }[]>('POST', `${path}/output/pop`, { n: 100 })
      outputs.push(...popped.map(({ payload }) => payload))
      return outputs.length === 3
    },
    { context: worker.output },
  )
  expect(outputs).toEqual([{ value: '\u0000é🎉', label: 'hello' }, { started: true }, { slept: 4 }])
  expect(await fleet.ok('GET', `${path}/dead`)).toMatchObject({
    items: [{ attempt: 2, last_error: 'no such file' }],
  })
  await fleet.ok('POST', `${path}/workers/${id}/drain`)
  expect(await worker.exited).toBe(0)
  expect(await fleet.ok('GET', `${path}/queue`)).toMatchObject({ length: 0 })
})
