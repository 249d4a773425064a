import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { MasterFrame, WorkerLabels } from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MasterFeatures } from '../../src/worker/master-features.ts'
import { workerAddress } from '../../src/worker/address.ts'
import { ControlChannel } from '../../src/worker/control-channel.ts'
import { Outbox } from '../../src/worker/outbox.ts'
import { Peer } from '../../src/worker-test/index.ts'
import { rawToken } from '../kit/jwt-signer.ts'
import { recordingLog, testHost, runTurns, advanceUntil, type RecordingLog } from './fixtures.ts'

let time: VirtualTime
let peer: Peer
let log: RecordingLog
let received: MasterFrame[]
let refused: string[]
let tokens: string[]
let outbox: Outbox
let channel: ControlChannel
let features: MasterFeatures

beforeEach(async () => {
  time = new VirtualTime()
  log = recordingLog()
  received = []
  refused = []
  tokens = ['first']
  peer = await new Peer().start()
  const state = (): string => JSON.stringify({ type: 'state', state: 'IDLE', config_gen: 0, ts: 1, last_error: null })
  const stats = (): string => JSON.stringify({ type: 'stats', slots: 0, cpu_pct: 0, rss_mb: 1, ts: 1, metrics: {} })
  outbox = new Outbox({ clock: time, timers: time, log, reports: { state, stats }, canNameTasks: () => false })
  features = new MasterFeatures(time)
  channel = make(peer.url)
})

afterEach(async () => {
  await channel.close(true)
  await peer.close()
})

/** The codes with which the worker closed its connections. */
const closings = (): readonly number[] =>
  peer.events
    .flatMap((line) => (/the control channel closed with (?<code>\d+)/.exec(line)?.groups?.['code'] ?? '').split(' '))
    .filter((code) => code !== '')
    .map(Number)

function make(masterUrl: string, labels: WorkerLabels = {}): ControlChannel {
  return new ControlChannel({
    clock: time,
    timers: time,
    random: seededRandom(7),
    log,
    url: workerAddress(masterUrl, 'render', 'w 1').controlUrl,
    token: () => tokens.at(-1) ?? '',
    outbox,
    features,
    version: '1.2.3',
    identity: { workerId: 'w 1', type: 'render', instanceId: 'i1', hardware: () => testHost.hardware(), labels },
    onOpen: () => {},
    onClose: () => {},
    onFrame: (frame) => void received.push(frame),
    onRefused: (why) => void refused.push(why),
  })
}

const opened = (): Promise<void> => advanceUntil(time, 'the channel opens', () => channel.isOpen)
const delays = (): readonly number[] =>
  log.lines
    .filter(({ message }) => message === 'control channel closed')
    .map(({ fields }) => (fields as { retry_in_ms: number }).retry_in_ms)

describe('a token that expires', () => {
  const tokenUntil = (exp: number): string =>
    rawToken('{"alg":"ES256"}', JSON.stringify({ iat: Math.floor(time.wallMs() / 1_000), exp }))

  it('is replaced once 80 % of its lifetime have passed and there is another one, without a delay (D231)', async () => {
    const startSeconds = Math.floor(time.wallMs() / 1_000)
    const next = 'the-next-token'
    tokens = [tokenUntil(startSeconds + 50)]
    channel.start()
    await opened()
    await time.advance(41_000)
    expect(peer.handshakes).toHaveLength(1)
    tokens.push(next)
    await advanceUntil(time, 'the channel connects again', () => peer.handshakes.length === 2 && channel.isOpen)
    expect(time.wallMs() / 1_000 - startSeconds).toBeLessThan(44)
    expect(peer.handshakes[1]).toMatchObject({ authorization: `Bearer ${next}` })
    expect(delays()).toEqual([0])
  })
})

describe('the control channel', () => {
  it('registers first, sends the token in the header and keeps the path prefix of a proxy', async () => {
    channel = make(`${peer.url}/fleet/`)
    channel.start()
    await opened()
    await runTurns()
    expect(peer.handshakeUrls).toEqual(['/fleet/api/v1/automations/render/workers/w%201/control'])
    expect(peer.handshakes[0]).toMatchObject({ authorization: 'Bearer first' })
    expect(peer.handshakes[0]?.['sec-websocket-extensions']).toBeUndefined()
    expect(peer.frames.map(({ type }) => type)).toEqual(['register', 'ping', 'state', 'stats'])
    expect(peer.of('register')[0]).toEqual({
      type: 'register',
      worker_id: 'w 1',
      automation_type: 'render',
      protocol_version: 1,
      instance_id: 'i1',
      hardware: testHost.hardware(),
    })
  })

  it('names its version and features, and reads those of the masters at each connect (D120)', async () => {
    peer.features = 'stream, later'
    channel.start()
    await opened()
    expect(peer.handshakes[0]).toMatchObject({
      'muster-version': '1.2.3',
      'muster-features': 'stream, result, progress, cancel, epoch, labels, logs, holder, output_task, slot_tasks',
    })
    expect([features.has('stream'), features.has('epoch')]).toEqual([true, false])
    peer.features = ''
    channel.reconnect('a test')
    await advanceUntil(time, 'it connects again', () => peer.handshakes.length === 2 && channel.isOpen)
    expect(features.has('stream')).toBe(false)
  })

  it('sends labels with register if the master knows the field (D136)', async () => {
    peer.features = 'labels'
    channel = make(peer.url, { zone: 'eu-1', tier: 'spot' })
    channel.start()
    await opened()
    expect(peer.of('register')[0]).toMatchObject({ labels: { zone: 'eu-1', tier: 'spot' } })
  })

  it('connects to a master of an older release without labels, and logs why (D136)', async () => {
    peer.features = 'stream, result, progress, cancel, epoch'
    channel = make(peer.url, { zone: 'eu-1' })
    channel.start()
    await opened()
    expect(peer.of('register')[0]).not.toHaveProperty('labels')
    expect(log.lines.map(({ message }) => message)).toContain(
      'the master is of a release that does not know worker labels: connecting without them',
    )
  })

  it('closes with 4100 only at an orderly end (D142)', async () => {
    channel.start()
    await opened()
    channel.reconnect('a test')
    await advanceUntil(time, 'it connects again', () => peer.handshakes.length === 2 && channel.isOpen)
    expect(closings()).toEqual([1000])
    await channel.close(true)
    await runTurns()
    channel = make(peer.url)
    channel.start()
    await advanceUntil(time, 'it connects', () => channel.isOpen)
    await channel.close(false)
    await runTurns()
    expect(closings()).toEqual([1000, 4100, 1000])
  })

  it('draws each delay from [d/2, d], d = 1, 2, 4 … 30 s, while the master is unavailable (G13)', async () => {
    const { port } = peer
    await peer.close()
    channel = make(`http://127.0.0.1:${port}`)
    channel.start()
    for (let step = 0; step < 2_000 && delays().length < 8; step += 1) await time.advance(200)
    const bounds = [1, 2, 4, 8, 16, 30, 30, 30].map((seconds) => seconds * 1_000)
    for (const [index, delay] of delays().slice(0, 8).entries()) {
      expect(delay).toBeLessThanOrEqual(bounds[index] ?? 0)
      expect(delay).toBeGreaterThanOrEqual((bounds[index] ?? 0) / 2)
    }
    expect(new Set(delays()).size).toBeGreaterThan(5)
    peer = await new Peer().start()
  })

  it('resets the delay to one second after 30 s of connection, and registers after each reconnect (G13)', async () => {
    channel.start()
    for (let round = 1; round <= 5; round += 1) {
      await advanceUntil(time, 'it opens', () => channel.isOpen && peer.of('register').length === round)
      peer.sockets[0]?.terminate()
      await advanceUntil(time, 'the break is seen', () => delays().length === round)
      await time.advance(16_000)
    }
    expect(delays()[4]).toBeGreaterThanOrEqual(8_000)
    await advanceUntil(time, 'it opens', () => channel.isOpen)
    await time.advance(30_000)
    peer.sockets[0]?.terminate()
    await advanceUntil(time, 'the break is seen', () => delays().length === 6)
    expect(delays()[5]).toBeLessThanOrEqual(1_000)
  })

  it('closes a connection after 45 s without data, not earlier (G12)', async () => {
    channel.start()
    await opened()
    await time.advance(40_000)
    peer.ping()
    await runTurns()
    await time.advance(44_000)
    expect(channel.isOpen).toBe(true)
    await time.advance(2_000)
    await advanceUntil(time, 'the end', () => !channel.isOpen || peer.of('register').length === 2)
    expect(log.lines.some(({ message }) => message.includes('no data from the master'))).toBe(true)
  })

  it('stops permanently after close code 4000', async () => {
    peer.closeCode = 4000
    channel.start()
    await advanceUntil(time, 'the refusal', () => refused.length > 0)
    await time.advance(600_000)
    expect(peer.handshakes).toHaveLength(1)
    expect(refused[0]).toContain('run the same release of master and worker')
  })

  it('reconnects after close code 4401 with the current token, and logs advice', async () => {
    peer.closeCode = 4401
    channel.start()
    await advanceUntil(time, 'the refusal', () => delays().length === 1)
    expect(log.lines.find(({ level }) => level === 'error')?.message).toContain('rejected the worker token')
    tokens.push('second')
    peer.closeCode = null
    await opened()
    expect(peer.handshakes.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  it('sends no buffered frames into a connection that is rejected after the upgrade (G11)', async () => {
    outbox.output(0, { n: 1 })
    peer.closeCode = 4401
    channel.start()
    await advanceUntil(time, 'the refusal', () => delays().length === 2)
    expect(outbox.frames).toBe(1)
    peer.closeCode = null
    await advanceUntil(time, 'the output', () => peer.outputs.length === 1)
  })

  it('logs advice when another process has taken its ID (D11)', async () => {
    channel.start()
    await opened()
    peer.sockets[0]?.close(1008, 'replaced by a newer connection')
    await advanceUntil(time, 'the delay is logged', () => delays().length === 1)
    expect(log.lines.find(({ level }) => level === 'warn')?.message).toContain('SVC_WORKER_ID')
  })

  it('logs advice when the server is not a master', async () => {
    peer.handshakeStatus = 404
    channel.start()
    await advanceUntil(time, 'it is refused', () => delays().length === 1)
    expect(log.lines.find(({ level }) => level === 'warn')?.fields).toEqual({
      status: 404,
      advice: expect.stringContaining('SVC_MASTER_URL'),
    })
  })

  it('treats a handshake rejected with 403 as an invalid token', async () => {
    peer.handshakeStatus = 403
    channel.start()
    await advanceUntil(time, 'the refusal', () => delays().length === 1)
    expect(log.lines.find(({ level }) => level === 'error')?.message).toContain('rejected the worker token')
    peer.handshakeStatus = null
    await opened()
  })

  it('waits at least for the Retry-After of a 503', async () => {
    peer.handshakeStatus = 503
    peer.handshakeHeaders = { 'Retry-After': '20' }
    channel.start()
    await advanceUntil(time, 'the refusal', () => delays().length === 1)
    expect(delays()[0]).toBeGreaterThanOrEqual(20_000)
    expect(delays()[0]).toBeLessThanOrEqual(30_000)
  })

  it('forwards frames of the master and ignores unknown ones', async () => {
    channel.start()
    await opened()
    peer.send({ type: 'from_the_future' })
    peer.send({ type: 'config_changed', config_gen: 4 })
    peer.send({ type: 'drain' })
    await advanceUntil(time, 'two frames', () => received.length === 2)
    expect(received).toEqual([{ type: 'config_changed', config_gen: 4 }, { type: 'drain' }])
    expect(channel.isOpen).toBe(true)
  })

  it('continues without a response to its ping after 2 s', async () => {
    peer.respondsToPings = false
    channel.start()
    await advanceUntil(time, 'the register', () => peer.of('register').length === 1)
    expect(channel.isOpen).toBe(false)
    await time.advance(2_000)
    expect(channel.isOpen).toBe(true)
  })
})
