/**
 * Declares the types that test/e2e/python/worker.py runs. Their `run` is in Python, so a Node worker of these types
 * fails each task.
 */
import { defineBatch, defineContinuous, Type } from '../../../dist/automation/public.js'

const run = () => {
  throw new Error('this type is run by test/e2e/python/worker.py')
}

const config = Type.Object({
  greeting: Type.String({ default: 'hello' }),
  password: Type.Optional(Type.String({ writeOnly: true })),
})

const batch = (type, visibilityTimeoutSeconds = 2) =>
  defineBatch({
    type,
    visibilityTimeoutSeconds,
    config,
    payload: Type.Object({ do: Type.String(), name: Type.Optional(Type.String()), n: Type.Optional(Type.Integer()) }),
    output: Type.Object({}, { additionalProperties: true }),
    pools: {
      held: { payload: Type.Object({}), tags: Type.Object({}) },
      seats: { payload: Type.Object({}), tags: Type.Object({ row: Type.Optional(Type.String()) }) },
    },
    retry: { baseSeconds: 0.1, factor: 1, capSeconds: 0.1 },
    run,
  })

export const py = batch('py')
/** Its leases outlast a master that starts slowly. */
export const pyLong = batch('py-long', 60)
export const pyPlain = batch('py-plain')
export const pyTicks = defineContinuous({ type: 'py-ticks', config, run })
