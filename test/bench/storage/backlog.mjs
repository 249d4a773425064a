/**
 * Measures how a long queue, or many leases, slow the backends down: tasks flow through in batches of 100 while others
 * stay.
 */
import { checkDelivery, inFlight } from '../load.mjs'
import { timed } from './life.mjs'
import { ack, countOf, openBackend, reserve, submit } from './muster.mjs'

const FLOW = 40_000
const BATCH = 100
const CALLERS = 4
const LOADERS = 8
const LOAD_BATCH = 500

/**
 * Each caller submits, reserves and acknowledges 100 tasks. First in, first out: the oldest of the `waiting` tasks are
 * reserved.
 */
async function flow(bench, { backend, costs }, waiting, others) {
  const tasks = bench.count(FLOW)
  const [known, done] = [new Set(waiting), []]
  const figures = await timed({ costs }, tasks, () =>
    inFlight(tasks / BATCH, CALLERS, async () => {
      for (const id of await submit(backend, BATCH)) known.add(id)
      const leases = await reserve(backend, BATCH)
      await ack(backend, leases)
      for (const { id } of leases) done.push(id)
    }),
  )
  const left = await countOf(backend)
  if (done.length !== tasks || left !== waiting.length + others)
    throw new Error(`delivery was not exact: ${done.length} of ${tasks} done, ${left} are left`)
  const delivered = new Set(done)
  checkDelivery(
    [...known].filter((id) => delivered.has(id)),
    done,
  )
  return figures
}

async function load(backend, tasks) {
  const ids = []
  await inFlight(
    Math.ceil(tasks / LOAD_BATCH),
    LOADERS,
    async () => void ids.push(...(await submit(backend, LOAD_BATCH))),
  )
  return ids
}

const flowing = (store, prepare) => async (bench) => {
  const opened = await openBackend(store, bench)
  try {
    const { waiting, leased: held } = await prepare(bench, opened.backend)
    return await flow(bench, opened, waiting, held)
  } finally {
    await opened.close()
  }
}

const empty = () => ({ waiting: [], leased: 0 })
const pending = (tasks) => async (bench, backend) => ({ waiting: await load(backend, bench.count(tasks)), leased: 0 })
const leased = (tasks) => async (bench, backend) => {
  await load(backend, bench.count(tasks))
  let held = 0
  for (let leases = await reserve(backend, LOAD_BATCH); leases.length > 0; leases = await reserve(backend, LOAD_BATCH))
    held += leases.length
  return { waiting: [], leased: held }
}

const row = (id, title, note, prepare, full) => ({
  id,
  level: 'storage',
  title,
  unit: 'tasks/s',
  better: 'higher',
  note: `${note}; 4 callers, each submits 100, reserves 100, acknowledges them. Gate: own figure when empty`,
  subjects: Object.fromEntries(
    [
      ['Redis', 'redis'],
      ['SQLite', 'sqlite'],
    ].flatMap(([name, store]) => [
      [`Muster, ${name}, ${full}`, flowing(store, prepare)],
      [`Muster, ${name}, empty`, flowing(store, empty)],
    ]),
  ),
  gates: ['Redis', 'SQLite'].map((name) => ({
    subject: `Muster, ${name}, ${full}`,
    over: `Muster, ${name}, empty`,
    atLeast: 0.8,
  })),
})

export const backlogRows = [
  row(
    'pending-1m',
    'life cycle beside 1,000,000 pending tasks',
    'the pending tasks come first',
    pending(1_000_000),
    '1,000,000 pending',
  ),
  row(
    'in-flight-10k',
    'life cycle beside 10,000 tasks in flight',
    'their leases stay',
    leased(10_000),
    '10,000 in flight',
  ),
]
