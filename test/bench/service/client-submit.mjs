/** Measures single submits through the published client, which forms the batches itself, without a worker. */
import { MusterClient } from '../../../dist/client/public.js'
import { inFlight, perSecond } from '../load.mjs'
import { ADMIN_TOKEN } from '../processes.mjs'
import { onEachStore, PAYLOAD, withBullmq } from './subjects.mjs'

const WIDTH = 200
/** Tasks before the measured ones, to warm up the just-in-time compiler. */
const WARM_UP = 5_000

/** Calls `submit` with 200 in flight. @returns the tasks a second, after checking that all of them are queued. */
async function measured(bench, submit, lengthOf, startCosts) {
  const [count, before] = [bench.count(30_000), bench.count(WARM_UP)]
  const costs = await startCosts()
  await inFlight(before, WIDTH, submit)
  const began = performance.now()
  await inFlight(count, WIDTH, submit)
  const ms = performance.now() - began
  const spent = await costs(before + count)
  const length = await lengthOf()
  if (length !== before + count) throw new Error(`delivery was not exact: ${length} of ${before + count} are queued`)
  return { value: perSecond(count, ms), ...spent }
}

const muster = (bench, fleet) => {
  const tasks = new MusterClient({ url: fleet.url, token: ADMIN_TOKEN }).automation('noop')
  const lengthOf = async () => (await tasks.queue({ limit: 1 })).length
  return measured(
    bench,
    () => tasks.submit(PAYLOAD),
    lengthOf,
    () => fleet.costs(),
  )
}

const bullmq = (bench) =>
  withBullmq(bench, 'client-submit', ({ queue, costs }) =>
    measured(
      bench,
      () => queue.add('noop', PAYLOAD),
      () => queue.getWaitingCount(),
      costs,
    ),
  )

export const clientSubmit = {
  id: 'client-submit',
  level: 'service',
  title: 'submit through the client library, one task a call',
  unit: 'tasks/s',
  better: 'higher',
  note:
    '200 calls in flight from this process; a payload of 200 bytes. The client of Muster forms batches and draws a ' +
    'key for each task; BullMQ writes to Redis itself. Node µs of Muster are those of the master alone',
  subjects: { ...onEachStore(muster), BullMQ: bullmq },
}
