import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { FIRST_BUDGET, TICK_MS } from '../../../src/master/control/admission-rate.ts'
import { outputFrame, registerFrame, RegistryFixture, type WorkerClient } from '../registry/fixture.ts'

let fixture: RegistryFixture
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(() => fixture.close())

/** A worker that does not respond to protocol pings. */
async function silent(id: string): Promise<WorkerClient> {
  const client = fixture.connect(id, { autoPong: false })
  await client.opened
  client.send(registerFrame(id))
  await client.settled()
  return client
}

describe('pings', () => {
  it('are sent to every worker every 20 s', async () => {
    const worker = await fixture.worker('w1')
    const ping = new Promise((resolve) => worker.socket.once('ping', resolve))
    await fixture.time.advance(20_000)
    await ping
    expect(worker.pings).toBe(1)
  })

  it('close the connection within 61 s when two of them got no response (D12, G12)', async () => {
    const [deaf, alive] = [await silent('w1'), await fixture.worker('w2')]
    for (let elapsed = 0; elapsed < 40; elapsed += 20) {
      const pings = [deaf, alive].map((worker) => new Promise((resolve) => worker.socket.once('ping', resolve)))
      await fixture.time.advance(20_000)
      await Promise.all(pings)
      await alive.settled()
    }
    expect(deaf.socket.readyState).toBe(WebSocket.OPEN)
    await fixture.time.advance(21_000)
    expect((await deaf.closed).code).toBe(1006)
    await alive.settled()
    expect(await fixture.get<unknown[]>('?connected=true')).toMatchObject([{ worker_id: 'w2' }])
  })

  it('are sent in slices of 100, all within the same round', async () => {
    const workers: WorkerClient[] = []
    for (let n = 0; n < 250; n += 1) {
      if (n % FIRST_BUDGET === 0) fixture.time.jump(TICK_MS)
      workers.push(await fixture.worker(`w${n}`))
    }
    const pinged = (): number => workers.filter(({ pings }) => pings > 0).length
    const first = new Promise((resolve) => workers[99]?.socket.once('ping', resolve))
    await fixture.time.advance(20_000 - fixture.time.monotonicMs())
    await first
    await Promise.all(workers.slice(0, 100).map((worker) => worker.settled()))
    expect(pinged()).toBe(100)
    const last = new Promise((resolve) => workers[249]?.socket.once('ping', resolve))
    await fixture.time.advance(1_000)
    await last
    await Promise.all(workers.map((worker) => worker.settled()))
    expect(pinged()).toBe(250)
  })

  it('do not close a socket that the master itself has paused (G12)', async () => {
    const worker = await silent('w1')
    fixture.sink.fill('mailer')
    worker.send(outputFrame({ n: 1 }))
    while (fixture.sink.taken.length === 0) await fixture.time.advance(1)
    await fixture.time.advance(120_000)
    expect(worker.socket.readyState).toBe(WebSocket.OPEN)
    fixture.sink.relieve('mailer')
    await worker.settled()
  })
})
