import { defineBatch, Permanent, RetryIn, Type } from '../../../src/automation/index.ts'

export const thumbnail = defineBatch({
  type: 'thumbnail',
  config: Type.Object({
    width: Type.Integer({ minimum: 16, maximum: 4096, default: 320 }),
    api_key: Type.Optional(Type.String({ writeOnly: true })),
  }),
  payload: Type.Object({ url: Type.String({ format: 'uri' }) }),
  output: Type.Object({ url: Type.String(), bytes: Type.Integer() }),
  pools: { proxies: { payload: Type.Object({ host: Type.String() }), tags: Type.Object({ region: Type.String() }) } },
  visibilityTimeoutSeconds: 120,
  retry: { baseSeconds: 2, capSeconds: 60 },

  async run({ config, task, pool, emit, signal, metrics }) {
    await using proxy = await pool('proxies').claim({ holdSeconds: 30, match: { region: 'eu' } })
    if (proxy === null) throw new RetryIn(5, 'no free proxy')
    const bytes = await shrink(task.payload.url, config.width, proxy.payload.host, signal)
    if (bytes === 0) throw new Permanent('the image is empty')
    metrics.counter('images').add()
    await emit({ url: task.payload.url, bytes })
  },
})

async function shrink(url: string, width: number, proxy: string, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  return url.length * width + proxy.length // Your own work goes here.
}
