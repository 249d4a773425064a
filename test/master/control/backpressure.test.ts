import { once } from 'node:events'
import { connect as connectSocket, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FleetError } from '../../../src/protocol/index.ts'
import {
  outputFrame,
  registerFrame,
  statsFrame,
  RegistryFixture,
  WORKER_TOKEN,
  type WorkerClient,
} from '../registry/fixture.ts'

let fixture: RegistryFixture
const sockets: Socket[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await fixture.close()
})

describe('inbound back-pressure', () => {
  it('pauses the sockets that feed a full type, and resumes them when the type has capacity again', async () => {
    const [worker, other] = [await fixture.worker('w1'), await fixture.worker('f1', { type: 'feed' })]
    fixture.sink.fill('mailer')
    worker.send(outputFrame({ n: 0 }))
    while (fixture.sink.taken.length === 0) await fixture.time.advance(1)
    for (let n = 1; n <= 50; n += 1) worker.send(outputFrame({ n, filler: 'x'.repeat(10_000) }))
    other.send(outputFrame({ other: true }))
    await other.settled()
    await fixture.time.advance(100)
    const before = fixture.sink.taken.filter(({ type }) => type === 'mailer').length
    expect(before).toBeLessThan(50)
    fixture.sink.relieve('mailer')
    await worker.settled()
    expect(fixture.sink.taken.filter(({ type }) => type === 'mailer')).toHaveLength(51)
  })

  it('pauses a socket with 256 KiB of frames that are not stored yet, and loses none', async () => {
    const worker = await fixture.worker('w1')
    const { workers } = fixture.deps.backend
    const beat = workers.beat.bind(workers)
    let taken = 0
    workers.beat = () => Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'unavailable'))
    for (let ts = 1; ts <= 40; ts += 1) worker.send(statsFrame({ ts, metrics: { filler: 'x'.repeat(50_000) } }))
    for (let turn = 0; turn < 20; turn += 1) await fixture.time.advance(10)
    workers.beat = async (items) => {
      taken = Math.max(taken, ...items.map(({ stats = [] }) => stats.length))
      return beat(items)
    }
    await fixture.time.advance(1_000)
    await worker.settled()
    await fixture.time.advance(1_000) // The last frame may have waited for company (D219).
    expect(taken).toBeGreaterThan(0)
    expect(taken).toBeLessThan(20)
    expect((await fixture.get<{ ts: number }[]>('/w1/stats')).map(({ ts }) => ts)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 1),
    )
  })
})

describe('outbound back-pressure', () => {
  /** A worker that does not read while the master sends it more responses than the socket buffers can take. */
  async function congested(pings: number, idChars: number): Promise<WorkerClient> {
    const worker = await fixture.worker('w1')
    worker.socket.pause()
    for (let n = 0; n < pings; n += 1) worker.send({ type: 'ping', id: 'x'.repeat(idChars) })
    while (worker.socket.bufferedAmount > 0) await fixture.time.advance(0)
    for (let turn = 0; turn < 20; turn += 1) await fixture.time.advance(0)
    return worker
  }

  it('keeps only the newest config_changed and the drain for a peer that does not read (G17)', async () => {
    const worker = await congested(400, 60_000)
    for (const slots of [2, 3, 4]) await fixture.patch('w1', { slots })
    await fixture.call('POST', '/w1/drain')
    worker.socket.resume()
    for (let turn = 0; turn < 3; turn += 1) await fixture.time.advance(1_000)
    await worker.settled()
    expect(worker.frames.filter(({ type }) => type !== 'ping')).toEqual([
      { type: 'config_changed', config_gen: 3 },
      { type: 'drain' },
    ])
  }, 20_000)

  /** A worker without a WebSocket client that never reads after its handshake. */
  async function deaf(id: string): Promise<Socket> {
    const socket = connectSocket({ port: fixture.port, host: '127.0.0.1' })
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(
      `GET /api/v1/automations/mailer/workers/${id}/control HTTP/1.1\r\n` +
        'Host: x\r\n' +
        'Connection: Upgrade\r\n' +
        'Upgrade: websocket\r\n' +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
        'Sec-WebSocket-Version: 13\r\n' +
        `Authorization: Bearer ${WORKER_TOKEN}\r\n` +
        '\r\n',
    )
    await once(socket, 'data')
    socket.pause()
    socket.write(masked(JSON.stringify(registerFrame(id))))
    return socket
  }

  it('disconnects a peer that sends pings and never reads the responses', async () => {
    const socket = await deaf('w1')
    const gone = once(socket, 'close')
    const ask = masked(JSON.stringify({ type: 'ping', id: 'x'.repeat(60_000) }))
    for (let n = 0; n < 400; n += 1) socket.write(ask)
    const ended = gone.then(() => true)
    for (
      let elapsed = 0;
      elapsed < 80 && !(await Promise.race([ended, fixture.time.advance(1_000).then(() => false)]));
      elapsed += 1
    );
    socket.resume()
    await gone
    const other = await fixture.worker('w2')
    await other.settled()
  }, 20_000)
})

/** A text frame with an empty mask. */
function masked(text: string): Buffer {
  const payload = Buffer.from(text)
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 0xff]
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), payload])
}
