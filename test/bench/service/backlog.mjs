/**
 * A queue with a million tasks. One worker process with 100 slots runs 20,000 as a warm-up and 20,000 as the sample,
 * once without further tasks and once with the rest of the million. Executed and remaining tasks must add up to the
 * submitted ones. A submit that an overloaded master rejects is sent again after the requested delay; `refused` counts
 * them.
 */
import { inFlight, perSecond } from '../load.mjs'
import { call, until } from '../processes.mjs'
import { readRuns } from '../recorder.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { musterOn, freshFile, PAYLOAD, withFleet } from './subjects.mjs'

const SAMPLE = 20_000
const BACKLOG = 1_000_000
const PER_REQUEST = 1_000
/** Tasks in addition to the sample: those that a stopped worker may have prefetched. */
const SPARE = 2_000
const RETRY_AFTER_MS = 1_000
const REQUEST = requestBytes('POST', '/api/v1/automations/noop/tasks/batch', {
  tasks: Array.from({ length: PER_REQUEST }, () => ({ payload: PAYLOAD })),
})

const lengthOf = async (url) => (await call(url, 'GET', 'noop/queue?n=1')).length

/** Adds tasks for `requests` full requests. @returns how often the master rejected one of them. */
function addAll(port, requests) {
  let refused = 0
  return withLoad(port, 4, async (load) => {
    await inFlight(requests, 4, async () => {
      for (;;) {
        const done = await load
          .send(REQUEST)
          .catch((error) => (error.message.startsWith('answered 503') ? null : Promise.reject(error)))
        if (done !== null) return
        refused += 1
        await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS))
      }
    })
    return refused
  })
}

const rateOver = (size) => (store) => (bench) =>
  withFleet(bench, store, async (fleet) => {
    const sample = bench.count(SAMPLE)
    const requests = Math.max(bench.count(size), 2 * sample + SPARE) / PER_REQUEST
    const total = requests * PER_REQUEST
    const ran = freshFile(bench)
    const worker = await fleet.worker('noop', ran)
    const began = performance.now()
    const refused = await addAll(fleet.port, requests)
    const added = performance.now()
    await call(fleet.url, 'PATCH', 'noop/workers/w-1/config', { enabled: true, slots: 100 })
    await until('the sample has run', async () => (await lengthOf(fleet.url)) <= total - 2 * sample - SPARE / 2)
    await worker.stop()
    const runs = readRuns(ran)
    const left = await lengthOf(fleet.url)
    if (new Set(runs.map(({ id }) => id)).size !== runs.length || runs.length + left !== total)
      throw new Error(`delivery was not exact: ${total} added, ${runs.length} runs, ${left} left`)
    return {
      value: perSecond(sample, runs[2 * sample - 1].atMs - runs[sample].atMs),
      add: perSecond(total, added - began),
      refused,
    }
  })

const STORES = ['memory', 'sqlite', 'redis']
const empty = rateOver(2 * SAMPLE + SPARE)
const full = rateOver(BACKLOG)
const fullName = (store) => `${musterOn(store)}, 1,000,000 pending`

export const backlog = {
  id: 'backlog',
  level: 'service',
  title: 'processing with a backlog',
  unit: 'tasks/s',
  better: 'higher',
  rounds: 1,
  note:
    '20,000 runs of one worker process with 100 slots, with an otherwise empty queue and with a million tasks; ' +
    'added in batches of 1,000 over 4 connections',
  subjects: Object.fromEntries(
    STORES.flatMap((store) => [
      [musterOn(store), empty(store)],
      [fullName(store), full(store)],
    ]),
  ),
  gates: STORES.map((store) => ({ subject: fullName(store), over: musterOn(store), atLeast: 0.8 })),
}
