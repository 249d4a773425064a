/** Runs an admin, who enables the workers, changes their slots, and replays dead tasks. */
import type { StartActor } from '../environment.ts'

export const startAdmin: StartActor = (environment) => {
  const process = environment.createProcess('admin')
  const client = environment.client(process)
  const { workers } = environment.plan
  const loop = async (): Promise<void> => {
    for (let round = 0; ; round += 1) {
      for (const [at, type] of workers.entries()) {
        await process.sleep(round === 0 ? 200 : 4_000)
        const slots = 1 + Math.floor(process.random.unit() * 4)
        await client.workers.patchConfig(type, `worker-${at}`, { enabled: true, slots }).catch(() => {})
      }
      if (process.random.unit() < 0.5) await client.tasks.replay('short', { n: 5 }).catch(() => {})
    }
  }
  void loop()
}
