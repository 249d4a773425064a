/**
 * Runs two admins of the workers that have no FleetWorker. One enables the workers and changes their slots and field
 * `a`, and replays dead tasks. The other changes field `b` alone, under If-Match. A plan may let both stop.
 */
import type { Environment, StartActor } from '../environment.ts'

const FIRST_ROUND_MS = 200
const PATCH_EVERY_MS = 8_000
const MAX_SLOTS = 4

export const startAdmins: StartActor = (environment) => {
  void enable(environment)
  void change(environment)
}

const isQuiet = ({ plan, time }: Environment): boolean => time.monotonicMs() >= (plan.quietFromMs ?? Infinity)

async function enable(environment: Environment): Promise<void> {
  const process = environment.createProcess('admin-0')
  const client = environment.client(process)
  for (let round = 0; ; round += 1) {
    for (const [at, type] of environment.plan.workers.entries()) {
      await process.sleep(round === 0 ? FIRST_ROUND_MS : PATCH_EVERY_MS)
      if (at < environment.plan.declared || isQuiet(environment)) continue
      const slots = 1 + Math.floor(process.random.unit() * MAX_SLOTS)
      await client.workers.patchConfig(type, `worker-${at}`, { enabled: true, slots, a: round }).catch(() => {})
    }
    if (process.random.unit() < 0.5) await client.tasks.replay('short', { n: 5 }).catch(() => {})
  }
}

async function change(environment: Environment): Promise<void> {
  const process = environment.createProcess('admin-1')
  const { workers } = environment.client(process)
  for (let round = 1; ; round += 1) {
    for (const [at, type] of environment.plan.workers.entries()) {
      await process.sleep(2 * PATCH_EVERY_MS * process.random.unit())
      if (at < environment.plan.declared || isQuiet(environment)) continue
      const id = `worker-${at}`
      try {
        const { body, epoch } = await workers.get(type, id, { view: 'summary' })
        await process.sleep(2_000 * process.random.unit())
        await workers.patchConfig(type, id, { b: round }, { ifMatch: { epoch, configGen: body.config_gen } })
      } catch {
        // Refused, or unknown: the next round reads the config again.
      }
    }
  }
}
