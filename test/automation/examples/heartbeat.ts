import { defineContinuous, Type } from '../../../src/automation/index.ts'

export const heartbeat = defineContinuous({
  type: 'heartbeat',
  config: Type.Object({ interval_seconds: Type.Number({ minimum: 1, default: 30 }) }),
  output: Type.Object({ beat: Type.Integer() }),

  async run(context) {
    const { counter, emit, signal, sleep } = context
    while (!signal.aborted) {
      await emit({ beat: await counter.add('beats', 1) })
      await sleep(context.config.interval_seconds * 1_000) // Rejects when the slot stops.
    }
  },
})
