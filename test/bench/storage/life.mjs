/**
 * Measures the life of tasks in a queue: all are added, then all are processed, each phase with its own time; the cycle
 * is both. The same function measures every queue through a driver of five methods:
 *
 *   open(bench, shape) ─▶ { add(n) ─▶ ids      one call of the queue's own, with n tasks
 *                           drain(n) ─▶ ids    n tasks processed and acknowledged, as its documentation recommends
 *                           count() ─▶ n       tasks that the store still contains, in any state
 *                           costs() ─▶ (n) ─▶ { redisCpuUs, innerCalls, … } where there is a Redis
 *                           close() }
 *
 * Each measurement is preceded by an uncounted warm-up. Node compiles frequently executed code, and discards it when
 * the last objects of its kind are collected, as after each measurement. A server does not have this effect; without
 * the warm-up, fast queues with short measurements would pay more than slow ones.
 */
import { checkDelivery, inFlight, perSecond, spread } from '../load.mjs'

/** 200 bytes as JSON. */
export const PAYLOAD = { text: 'x'.repeat(189) }

export const LIVES = {
  hundred: { name: 'batches of 100', tasks: 60_000, batch: 100, adders: 8, takers: 8 },
  ten: { name: 'batches of 10', tasks: 20_000, batch: 10, adders: 16, takers: 16 },
  single: { name: 'single', tasks: 20_000, batch: 1, adders: 200, takers: 200 },
  hundredOnDisk: {
    name: 'batches of 100, AOF',
    tasks: 60_000,
    batch: 100,
    adders: 8,
    takers: 8,
    appendfsync: 'everysec',
  },
  eightCallers: { name: 'batches of 100, 8 callers', tasks: 40_000, batch: 100, adders: 8, takers: 8 },
}

/** Times `work`, which handles `items`. @returns the rate, and the costs per item in this process and in Redis. */
export async function timed(queue, items, work) {
  const costs = await queue.costs?.()
  const cpu = process.cpuUsage()
  const began = performance.now()
  await work()
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  return { value: perSecond(items, ms), ms, nodeCpuUs: (user + system) / items, ...(await costs?.(items)) }
}

/** Share of the tasks of a life, for the warm-up. */
const WARM_UP = 1 / 3

/**
 * @returns `{ submit, process, cycle }`, measured once per round. @param share Share of the tasks, for a slow queue.
 */
export function lifeOf(bench, name, open, shape, share = 1) {
  return bench.once(`${name}, ${shape.name}`, async () => {
    await live(bench, open, shape, bench.count(shape.tasks * share * WARM_UP))
    return live(bench, open, shape, bench.count(shape.tasks * share))
  })
}

async function live(bench, open, shape, tasks) {
  const queue = await open(bench, shape)
  try {
    const [submitted, latencies] = [[], []]
    const submit = await timed(queue, tasks, () =>
      inFlight(tasks / shape.batch, shape.adders, async () => {
        const began = performance.now()
        const ids = await queue.add(shape.batch)
        latencies.push(performance.now() - began)
        for (const id of ids) submitted.push(id)
      }),
    )
    let done = []
    const processed = await timed(queue, tasks, async () => void (done = await queue.drain(tasks)))
    checkDelivery(submitted, done)
    const left = await queue.count()
    if (left !== 0) throw new Error(`delivery was not exact: ${left} tasks are left`)
    return { submit: { ...submit, ...spread(latencies) }, process: processed, cycle: bothOf(submit, processed, tasks) }
  } finally {
    await queue.close()
  }
}

function bothOf(submit, processed, tasks) {
  const sums = ['nodeCpuUs', 'redisCpuUs', 'innerCalls', 'aofBytes'].filter((field) => submit[field] !== undefined)
  return {
    value: perSecond(tasks, submit.ms + processed.ms),
    ...Object.fromEntries(sums.map((field) => [field, submit[field] + processed[field]])),
  }
}
