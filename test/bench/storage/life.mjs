/**
 * The life of tasks in a queue: all are added, then all are processed, each timed by itself; the cycle is both. Every queue,
 * ours and the peers', is measured by this one function through a driver of five methods:
 *
 *   open(bench, shape) ─▶ { add(n) ─▶ ids      one call of the queue's own, with n tasks
 *                           drain(n) ─▶ ids    n tasks processed and acknowledged, in whatever way its documents advise
 *                           count() ─▶ n       tasks the store still knows, however their place is called
 *                           costs() ─▶ (n) ─▶ { redisCpuUs, innerCalls, … } where there is a Redis
 *                           close() }
 *
 * A life that is not counted precedes each: Node compiles what runs often, and forgets it when the last objects of its
 * kind are collected, as after every measurement. A server is never there; without the first life we paid for it, whose
 * measurements are short, and the slower peers hardly.
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

/** Times `work`, which handles `items`: the rate, and what one item costs this process and Redis. */
export async function timed(queue, items, work) {
  const costs = await queue.costs?.()
  const cpu = process.cpuUsage()
  const began = performance.now()
  await work()
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  return { value: perSecond(items, ms), ms, nodeCpuUs: (user + system) / items, ...(await costs?.(items)) }
}

/** Of the tasks of a life, for the one that is not counted. */
const WARM_UP = 1 / 3

/** Answers `{ submit, process, cycle }`, measured once a round. `share`: of the tasks, for a queue that is slow beside the others. */
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
