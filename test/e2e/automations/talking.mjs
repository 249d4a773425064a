/**
 * Automations for the tests of several masters and of the event bus, run by the built command: `talk` emits or
 * publishes many messages, `hear` subscribes to a topic, and `slow` comes from faulty.mjs.
 */
import { defineBatch, defineContinuous, Type } from '../../../dist/automation/public.js'

export { slow } from './faulty.mjs'

const keys = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${index}`, Type.Optional(Type.Integer())]))

export const talk = defineBatch({
  type: 'talk',
  visibilityTimeoutSeconds: 2,
  config: Type.Object({ ...keys, secret: Type.Optional(Type.String({ writeOnly: true })) }),
  payload: Type.Object({ count: Type.Integer(), topic: Type.Optional(Type.String()) }),
  output: Type.Object({ task_id: Type.String(), pid: Type.Integer(), n: Type.Integer() }),
  pools: { seats: { payload: Type.Object({}), tags: Type.Object({}) } },
  async run({ task, emit, bus }) {
    for (let n = 1; n <= task.payload.count; n += 1) {
      if (task.payload.topic === undefined) await emit({ task_id: task.id, pid: process.pid, n })
      else await bus.publish(task.payload.topic, { n })
    }
  },
})

export const hear = defineContinuous({
  type: 'hear',
  config: Type.Object({ topic: Type.String({ default: 'chat' }) }),
  output: Type.Object({ topic: Type.String(), message: Type.Unknown() }),
  async run({ config: { topic }, bus, emit }) {
    for await (const message of bus.subscribe(topic)) await emit({ topic, message })
  },
})
