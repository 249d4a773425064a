/**
 * Every route that reads a list of the store is an inspection (D82). Each gets one request more than one token may have
 * running and waiting, while the store does not respond.
 */
import { describe, expect, it } from '@jest/globals'
import { INSPECTIONS } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { eventually } from '../../kit/index.ts'
import { runMaster } from '../../kit/running-master.ts'

const REQUESTS = INSPECTIONS.runningPerToken + INSPECTIONS.waitingPerToken + 1
const HARDWARE = '{"cores":1,"ram_gb":1,"hostname":"h","kernel":"k"}'
const AUTOMATION = '/api/v1/automations/{type}'
const WORKER = `${AUTOMATION}/workers/{id}`

/** The calls of the store that the routes make. */
const READS: { readonly [G in keyof Backend]?: readonly string[] } = {
  tasks: ['queue', 'dead', 'newestDead', 'list'],
  streams: ['peek', 'tail', 'pop'],
  workers: ['page'],
  configs: ['history'],
  stats: ['read'],
  pools: ['list', 'claims'],
  audit: ['list'],
  rollups: ['read'],
}
const INSPECTING = [
  `GET ${AUTOMATION}/queue`,
  `GET ${AUTOMATION}/dead`,
  `GET ${AUTOMATION}/dead/newest`,
  `GET ${AUTOMATION}/tasks`,
  `GET ${AUTOMATION}/output/peek`,
  `GET ${AUTOMATION}/output/tail`,
  `POST ${AUTOMATION}/output/pop`,
  `GET ${AUTOMATION}/workers`,
  `GET ${AUTOMATION}/worker-columns`,
  `GET ${WORKER}/config/history`,
  `GET ${WORKER}/stats`,
  'GET /api/v1/pools/{pool_name}',
  'GET /api/v1/pools/{pool_name}/claims',
  `GET ${AUTOMATION}/queue/stats`,
  'GET /api/v1/audit',
]
/** Its range bounds the number of entries. */
const BY_RANGE = [`GET ${AUTOMATION}/history`]
/** The worker keeps the entries, and the number of waiting reads is limited (D181). */
const BY_WORKER = [`GET ${WORKER}/logs`]

/** A store whose reads wait until it is released, and count how many have begun. */
function heldStore() {
  const inner = new MemoryBackend({ clock: systemTime, random: systemRandom })
  let release = (): void => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const counts = { begun: 0 }
  const held = (group: object, methods: readonly string[]): object =>
    new Proxy(group, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof name !== 'string' || !methods.includes(name)) return method
        return async (...args: unknown[]): Promise<unknown> => {
          counts.begun += 1
          await released
          return (method as (...all: unknown[]) => unknown)(...args)
        }
      },
    })
  const backend = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      const methods = READS[name as keyof Backend]
      if (methods !== undefined) return held(value as object, methods)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { backend, counts, release: () => release() }
}

describe('a route that reads a list of the store', () => {
  it.each([...INSPECTING, ...BY_RANGE])(
    'runs a few requests of a token, lets some wait, and refuses others (D82): %s',
    async (row) => {
      const { backend, counts, release } = heldStore()
      const master = await runMaster({ backend })
      const ref = { type: 'mailer', id: 'w1' }
      await backend.workers.register([
        { ...ref, conn: 'm/1', instance: '', hardware: HARDWARE, defaults: '{"slots":1}' },
      ])
      const [method = '', template = ''] = row.split(' ')
      const path = template.replace('{type}', ref.type).replace('{id}', ref.id).replace('{pool_name}', 'accounts')
      const statuses: number[] = []
      const requests = Array.from({ length: REQUESTS }, async () => {
        const { status } = await master.call(method, path, method === 'POST' ? { body: { n: 1 } } : {})
        statuses.push(status)
      })
      await eventually(
        'a request is refused, or too many read',
        () => statuses.length > 0 || counts.begun > INSPECTIONS.runningPerToken,
      )
      expect({ begun: counts.begun, statuses }).toEqual({ begun: INSPECTIONS.runningPerToken, statuses: [503] })
      release()
      await Promise.all(requests)
      expect(statuses).toEqual([503, ...Array<number>(REQUESTS - 1).fill(200)])
    },
  )

  it('is one of those above, if a request names how many entries it wants', async () => {
    const { routes } = await runMaster()
    const rows = routes.flatMap(({ method, path, query, body }) => {
      const fields = { ...propertiesOf(query), ...(path.endsWith('/pop') && propertiesOf(body)) }
      return 'n' in fields || 'limit' in fields ? [`${method} ${path}`] : []
    })
    expect(rows.toSorted()).toEqual([...INSPECTING, ...BY_WORKER].toSorted())
  })
})

const propertiesOf = (schema: { readonly properties?: object } | undefined): object => schema?.properties ?? {}
