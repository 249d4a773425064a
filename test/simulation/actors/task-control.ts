/**
 * Runs two producers of tasks with groups, unique keys, labels, delays and retained outcomes, if the plan has them. A
 * client cancels tasks in each place, submits some of them again, and reads outcomes. Another one pauses the queues.
 */
import type { TaskBody } from '../../../src/protocol/index.ts'
import { pick, whole } from '../draw.ts'
import type { Environment, StartActor } from '../environment.ts'
import type { TaskControlPlan } from '../plan.ts'
import type { SimProcess } from '../process.ts'
import { submitRepeatedly } from './producers.ts'

const TYPES = ['short', 'grouped', 'grouped'] as const
const PLACES = ['pending', 'scheduled', 'in_flight', 'dead'] as const
const MAX_BATCH = 4
/** Of one list, at most so many tasks are cancelled. */
const MAX_CANCELLED = 3
const PAGE = 20
const MAX_PAUSE_SECONDS = 8

export const startTaskControl: StartActor = (environment) => {
  const { taskControl } = environment.plan
  if (taskControl === null) return
  for (const name of ['producer-2', 'producer-3']) void produce(environment, name, taskControl)
  void cancel(environment, taskControl)
  void pause(environment, taskControl)
}

/** Waits as long as between two events that come `everyMs` on average. */
const wait = (process: SimProcess, everyMs: number): Promise<void> =>
  process.sleep(-Math.log(1 - process.random.unit()) * everyMs)

async function produce(environment: Environment, name: string, plan: TaskControlPlan): Promise<void> {
  const process = environment.createProcess(name)
  const { tasks } = environment.client(process)
  for (let made = 0; ;) {
    await wait(process, plan.submitEveryMs)
    const type = pick(process.random, TYPES)
    const batch = Array.from({ length: whole(process.random, 1, MAX_BATCH) }, () =>
      drawTask(process, `${name}-${(made += 1)}`, type, plan.names),
    )
    void submitRepeatedly(process, tasks, type, batch)
  }
}

function drawTask({ random }: SimProcess, id: string, type: string, names: number): TaskBody {
  const has = (share: number): boolean => random.unit() < share
  const poison = has(0.05) ? pick(random, ['permanent', 'text', 'hang']) : undefined
  return {
    task_id: id,
    payload: {
      ms: whole(random, 20, 3_000),
      failures: has(0.2) ? whole(random, 1, 3) : 0,
      ...(poison !== undefined && { poison }),
    },
    priority: whole(random, -1, 1),
    ...(type === 'grouped' && has(0.8) && { group_key: `group-${whole(random, 1, names)}` }),
    ...(has(0.4) && {
      unique_key: `unique-${whole(random, 1, names)}`,
      unique_until: pick(random, ['started', 'finished'] as const),
      on_conflict: pick(random, ['keep', 'replace'] as const),
    }),
    ...(has(0.5) && { labels: { task: id, tenant: `"${whole(random, 1, names)}"` } }),
    ...(has(0.6) && { retain_seconds: pick(random, [1, 5, 30, 300]) }),
    ...(has(0.3) && { delay_seconds: whole(random, 0, 40) / 4 }),
  }
}

async function cancel(environment: Environment, { cancelEveryMs }: TaskControlPlan): Promise<void> {
  const process = environment.createProcess('canceller')
  const { tasks } = environment.client(process)
  const { random } = process
  for (;;) {
    await wait(process, cancelEveryMs)
    const type = pick(random, TYPES)
    try {
      const { body } = await tasks.list(type, { place: pick(random, PLACES), limit: PAGE })
      const first = whole(random, 0, body.items.length)
      const ids = body.items.slice(first, first + whole(random, 1, MAX_CANCELLED)).map(({ task_id: id }) => id)
      if (ids.length === 0) continue
      await tasks.cancel(type, ids)
      for (const id of ids) void tasks.get(type, id, { waitSeconds: whole(random, 0, 5) }).catch(() => {})
      // An outcome keeps its id, so this is a new task only without one.
      const again = ids.map((id): TaskBody => ({ task_id: id, payload: { ms: 50, failures: 0 } }))
      if (random.unit() < 0.2) await submitRepeatedly(process, tasks, type, again)
    } catch {
      // Unavailable: the next round looks again.
    }
  }
}

/** Every pause ends by time, or is resumed. */
async function pause(environment: Environment, { pauseEveryMs }: TaskControlPlan): Promise<void> {
  const process = environment.createProcess('pauser')
  const { tasks } = environment.client(process)
  const { random } = process
  for (;;) {
    await wait(process, pauseEveryMs)
    const [type, seconds] = [pick(random, TYPES), whole(random, 1, MAX_PAUSE_SECONDS)]
    const isTimed = random.unit() < 0.5
    await tasks.pause(type, isTimed ? { seconds, note: 'simulated' } : {}).catch(() => {})
    if (isTimed) continue
    await process.sleep(1_000 * seconds)
    while (!(await isResumed(tasks.resume(type)))) await process.sleep(1_000)
  }
}

const isResumed = (resuming: Promise<unknown>): Promise<boolean> =>
  resuming.then(
    () => true,
    () => false,
  )
