/** The event stream of a master beside one of the previous release, which does not know entries with several events. */
import { afterEach, expect, it } from '@jest/globals'
import { ADMIN_TOKEN, type Fleet } from '../e2e/fleet.ts'
import { Masters } from '../e2e/masters.ts'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { eventually } from '../kit/index.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { Listener, type ListenOptions } from '../master/events/listener.ts'
import { forgetDocument } from '../openapi/every-response.ts'
import { PREVIOUS } from './release.ts'

const WORKERS = 20
const BATCHED = '?batched=true'
const ids = Array.from({ length: WORKERS }, (_, n) => `w-${n}`)
const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function listen({ url }: Fleet, options: ListenOptions = {}): Promise<Listener> {
  const listener = await Listener.begin(url, { token: ADMIN_TOKEN, ...options })
  open.push(() => listener.close())
  return listener
}

/** Claims all workers at the same time, so that the events arise together. */
const claimAll = (fleet: Fleet, holder: string): Promise<unknown> =>
  Promise.all(ids.map((id) => fleet.ok('PUT', `/automations/slow/workers/${id}/claim`, { managed_by: holder })))

const seesMasters = (fleet: Fleet, count: number): Promise<void> =>
  eventually(`a heartbeat shows ${count} masters`, async () => {
    const { masters } = await fleet.ok<{ masters: readonly object[] }>('GET', '/me')
    return masters.length === count
  })

const claimedOn = ({ events }: Listener): readonly string[] =>
  events.filter(({ name }) => name === 'worker.claimed').map(({ data }) => String(data['worker_id']))

withRedisServer('events of two releases on one Redis', () => {
  it('reach the streams of both, each once; a batch is a reset for the previous one (G10, D135)', async () => {
    const masters = await Masters.start(2)
    open.push(() => masters.stop())
    const [current, other] = [masters.at(0), masters.at(1)]
    for (const id of ids) {
      const worker = await SocketWorker.join(current, 'slow', id)
      open.push(() => worker.leave())
    }
    const batched = await listen(current, { query: BATCHED })
    const before = batched.lastId
    await claimAll(current, 'first')
    await batched.until(() => batched.names.includes('workers.claimed'))

    await masters.end(1, 'SIGTERM')
    await seesMasters(current, 1)
    other.checkout = PREVIOUS
    forgetDocument(other.url)
    await masters.restart(1)
    const resumed = await listen(other, { lastEventId: before })
    await resumed.until(() => resumed.names.includes('reset'))

    await seesMasters(current, 2)
    const [old, young] = [await listen(other), await listen(current, { query: BATCHED })]
    await claimAll(current, 'second')
    for (const listener of [old, young]) {
      await listener.until(() => claimedOn(listener).length >= WORKERS)
      expect([claimedOn(listener).toSorted(), listener.names.includes('reset')]).toEqual([ids.toSorted(), false])
    }
  }, 120_000)
})
