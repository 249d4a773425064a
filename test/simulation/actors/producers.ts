/** Runs two producers. Each submits tasks with ids of its own, and repeats a submit whose outcome is unknown. */
import type { Environment, StartActor } from '../environment.ts'

const MAX_ATTEMPTS = 3

export const startProducers: StartActor = (environment) => {
  start(environment, 'producer-0')
  start(environment, 'producer-1')
}

function start(environment: Environment, name: string): void {
  const process = environment.createProcess(name)
  const { tasks } = environment.client(process)
  const unit = (): number => process.random.unit()
  let made = 0
  const task = () => ({
    task_id: `${name}-${(made += 1)}`,
    payload: { ms: Math.floor(20 + unit() * 2_000), failures: unit() < 0.9 ? 0 : Math.floor(unit() * 20) },
    priority: Math.floor(unit() * 3) - 1,
    ...(unit() < 0.3 && { idempotency_key: `${name}-key-${made}` }),
  })
  const submit = async (): Promise<void> => {
    const type = unit() < 0.7 ? 'short' : 'long'
    const batch = Array.from({ length: 1 + Math.floor(unit() * 4) }, task)
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      try {
        const [first] = batch
        if (batch.length === 1 && first !== undefined) await tasks.submit(type, first)
        else await tasks.submitBatch(type, batch)
        return
      } catch {
        await process.sleep(1_000 * unit())
      }
    }
  }
  const loop = (): void => {
    process.after(-Math.log(1 - unit()) * environment.plan.submitEveryMs, () => {
      void submit()
      loop()
    })
  }
  loop()
}
