/** Code that must not compile. tsc checks this file; a missing error fails the check. */
import { describe, expect, it } from '@jest/globals'
import { defineBatch, defineContinuous, Type } from '../../src/automation/index.ts'

const batch = defineBatch({
  type: 'thumbnail',
  config: Type.Object({
    width: Type.Integer({ default: 320 }),
    api_key: Type.Optional(Type.String({ writeOnly: true })),
  }),
  payload: Type.Object({ url: Type.String() }),
  output: Type.Object({ bytes: Type.Integer() }),
  pools: { proxies: { payload: Type.Object({ host: Type.String() }), tags: Type.Object({ region: Type.String() }) } },
  async run({ config, task, pool, emit }) {
    const width: number = config.width
    const slots: number = config.slots
    const key: string | undefined = config.api_key
    const url: string = task.payload.url
    await emit({ bytes: width + slots + url.length + (key?.length ?? 0) })
    // @ts-expect-error the config has no such field
    void config.height
    // @ts-expect-error a number is no URL
    const wrongPayload: number = task.payload.url
    // @ts-expect-error an output of another type
    await emit({ bytes: 'many' })
    // @ts-expect-error an output without its field
    await emit({})
    // @ts-expect-error the pool is not declared
    pool('browsers')
    const claim = await pool('proxies').claim({ holdSeconds: 30 })
    const host: string | undefined = claim?.payload.host
    const region: string | undefined = claim?.tags.region
    // @ts-expect-error the tag is a string
    const wrongTag: number | undefined = claim?.tags.region
    // @ts-expect-error an item of another shape
    await pool('proxies').put([{ id: 'a', payload: { port: 1 } }])
    // @ts-expect-error config is read-only
    config.width = 1
    return void [wrongPayload, wrongTag, host, region]
  },
})

const continuous = defineContinuous({
  type: 'watcher',
  run(context) {
    // @ts-expect-error a continuous automation has no task
    void context.task
    // @ts-expect-error no pool is declared
    context.pool('any')
    void context.emit({ any: ['object'] })
  },
})

const plain = defineBatch({
  type: 'plain',
  config: { type: 'object', properties: { width: { type: 'integer' } } },
  payload: { type: 'object' },
  async run({ config, task, emit }) {
    const width: unknown = config['width']
    const enabled: boolean = config.enabled
    const payload: unknown = task.payload
    await emit({ width, enabled, payload })
  },
})

// @ts-expect-error a batch automation needs a payload schema
const incomplete = () => defineBatch({ type: 'incomplete', run: () => {} })

describe('the types of an automation', () => {
  it('come from its TypeBox schemas, and are unknown for a plain JSON Schema (D36)', () => {
    expect([batch.kind, continuous.kind, plain.kind]).toEqual([
      'BatchAutomation',
      'ContinuousAutomation',
      'BatchAutomation',
    ])
    expect(incomplete).toThrow('/payload is required')
  })
})
