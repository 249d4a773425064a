/** The automations of the soak: `job` runs tasks, `beat` emits numbered outputs. */
const { defineBatch, defineContinuous, Type } = await import(
  process.env.SOAK_AUTOMATION_API ?? '../../dist/automation/public.js'
)

export const job = defineBatch({
  type: 'job',
  visibilityTimeoutSeconds: 60,
  payload: Type.Object({ ms: Type.Integer(), text: Type.String() }),
  config: Type.Object({ mark: Type.Integer({ default: 0 }) }),
  async run({ task, sleep }) {
    await sleep(task.payload.ms)
  },
})

export const beat = defineContinuous({
  type: 'beat',
  config: Type.Object({ mark: Type.Integer({ default: 0 }), every_ms: Type.Integer({ default: 1000 }) }),
  output: Type.Object({ life: Type.String(), n: Type.Integer(), text: Type.String() }),
  async run({ config, emit, signal, sleep, worker }) {
    const life = `${worker?.id ?? ''}-${process.pid}-${performance.timeOrigin}-${Math.random()}`
    for (let n = 1; !signal.aborted; n += 1) {
      await emit({ life, n, text: 'x'.repeat(100) })
      await sleep(config.every_ms)
    }
  },
})
