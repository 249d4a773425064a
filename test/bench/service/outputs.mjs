/**
 * Measures outputs into the stream and out of it. One fake worker in this process sends frames as fast as the socket
 * accepts them. A wave is done when the stream contains all of it. Then it is popped, and each number must be returned
 * once, in order. Waves are needed because a stream keeps 50,000 entries.
 */
import { WebSocket } from 'ws'
import { inFlight, perSecond } from '../load.mjs'
import { call, until } from '../processes.mjs'
import { withFakeWorkers } from './fake-worker.mjs'
import { requestBytes, withLoad } from './rest-load.mjs'
import { freshFile, onEachStore, withLimit } from './subjects.mjs'

const WAVE = 40_000
const WAVES = 4
/** Maximum of unsent bytes in the socket, as in the worker. */
const SOCKET_HIGH_BYTES = 1_048_576
const TEXT = 'x'.repeat(150)
const POP_PATH = '/api/v1/automations/firehose/output/pop'

const output = (n) => ({ slot_id: 0, ts: 1_700_000_000.123, payload: { n, text: TEXT } })

/** Creates the frames of `count` outputs, with `size` outputs in each. */
function framesOf(count, size) {
  return Array.from({ length: Math.ceil(count / size) }, (_, at) => {
    const outputs = Array.from({ length: Math.min(size, count - at * size) }, (_each, n) => output(at * size + n))
    return JSON.stringify(size === 1 ? { type: 'output', ...outputs[0] } : { type: 'output_batch', outputs })
  })
}

async function sendAll(socket, frames) {
  for (const frame of frames) {
    if (socket.bufferedAmount < SOCKET_HIGH_BYTES) socket.send(frame)
    else await new Promise((resolve) => void socket.send(frame, resolve))
  }
}

const lengthOf = async (url) => (await call(url, 'GET', 'firehose/output/length')).length

/** Pops everything. Each of 0..count-1 must be returned once, in order. */
async function popAll(url, count) {
  const numbers = []
  while (numbers.length < count) {
    const entries = await call(url, 'POST', 'firehose/output/pop', { n: 10_000 })
    if (entries.length === 0) break
    for (const { payload } of entries) numbers.push(payload.n)
  }
  if (numbers.length !== count || numbers.some((n, at) => n !== at))
    throw new Error(
      `delivery was not exact: ${count} sent, ${numbers.length} in the stream, in order: ` +
        `${numbers.every((n, at) => n === at)}`,
    )
}

const sent = (size) => (bench, fleet) =>
  withFakeWorkers(fleet.port, 'firehose', 1, async ([worker]) => {
    const frames = framesOf(bench.count(WAVE), size)
    const costs = await fleet.costs()
    let ms = 0
    for (let wave = 0; wave < WAVES; wave += 1) {
      const began = performance.now()
      await sendAll(worker.socket, frames)
      await until('every output is in the stream', async () => (await lengthOf(fleet.url)) >= bench.count(WAVE), {
        everyMs: 2,
      })
      ms += performance.now() - began
      await popAll(fleet.url, bench.count(WAVE))
    }
    return { value: perSecond(bench.count(WAVE) * WAVES, ms), ...(await costs(bench.count(WAVE) * WAVES)) }
  })

const received = (size) => (bench) =>
  withLimit('frames', async ({ port, costs }) => {
    const frames = framesOf(bench.count(WAVE), size)
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: false })
    await new Promise((resolve) => void socket.once('open', resolve))
    let ms = 0
    for (let wave = 1; wave <= WAVES; wave += 1) {
      const began = performance.now()
      await sendAll(socket, frames)
      const counted = new Promise(
        (resolve) =>
          void socket.once('message', (/** @type {Buffer} */ data) => resolve(Number(JSON.parse(data.toString()).id))),
      )
      socket.send('{"type":"ping","id":"all"}')
      if ((await counted) !== wave * bench.count(WAVE)) throw new Error('the limit lost outputs')
      ms += performance.now() - began
    }
    socket.terminate()
    return { value: perSecond(bench.count(WAVE) * WAVES, ms), ...costs(bench.count(WAVE) * WAVES) }
  })

const emitted = async (bench, fleet) => {
  const total = bench.count(WAVE)
  await fleet.worker('firehose', freshFile(bench))
  const costs = await fleet.costs()
  const began = performance.now()
  await call(fleet.url, 'PATCH', 'firehose/workers/w-1/config', { enabled: true, slots: 1, total })
  await until('every output is in the stream', async () => (await lengthOf(fleet.url)) >= total)
  const ms = performance.now() - began
  const spent = await costs(total)
  await popAll(fleet.url, total)
  return { value: perSecond(total, ms), ...spent }
}

const popped = (bench, fleet) =>
  withFakeWorkers(fleet.port, 'firehose', 1, async ([worker]) => {
    const request = requestBytes('POST', POP_PATH, { n: 100 })
    const seen = new Set()
    let ms = 0
    for (let wave = 0; wave < WAVES; wave += 1) {
      await sendAll(worker.socket, framesOf(bench.count(WAVE), 1_000))
      await until('every output is in the stream', async () => (await lengthOf(fleet.url)) >= bench.count(WAVE))
      const bodies = []
      const began = performance.now()
      await withLoad(fleet.port, 4, (load) =>
        inFlight(Math.ceil(bench.count(WAVE) / 100), 4, async () => void bodies.push(await load.send(request))),
      )
      ms += performance.now() - began
      for (const body of bodies) for (const { id } of JSON.parse(body)) seen.add(id)
    }
    const count = bench.count(WAVE) * WAVES
    if (seen.size !== count || (await lengthOf(fleet.url)) !== 0)
      throw new Error(`delivery was not exact: ${count} in the stream, ${seen.size} popped`)
    return { value: perSecond(count, ms) }
  })

const answered = (bench) =>
  withLimit(
    'answer',
    async ({ port }) => {
      const requests = WAVES * Math.ceil(bench.count(WAVE) / 100)
      const request = requestBytes('POST', POP_PATH, { n: 100 })
      const began = performance.now()
      await withLoad(port, 4, (load) => inFlight(requests, 4, () => load.send(request)))
      return { value: perSecond(requests * 100, performance.now() - began) }
    },
    { settings: [`${100 * JSON.stringify(output(0)).length}`] },
  )

const frames = (id, title, size, aim) => ({
  id,
  level: 'service',
  title,
  unit: 'outputs/s',
  better: 'higher',
  aim,
  note: 'one socket, outputs of 150 bytes, until the stream holds them all; the sender is in this process',
  subjects: { ...onEachStore(sent(size)), 'limit: ws receive + parse': received(size) },
  gates: [{ subject: 'Muster, Redis', over: 'limit: ws receive + parse', atLeast: 0.7 }],
})

export const outputsSingle = frames('outputs-single', 'outputs, one a frame', 1, 160_000)
export const outputsBatched = frames('outputs-100', 'outputs, 100 a frame', 100, 260_000)

export const outputsEmitted = {
  id: 'outputs-emitted',
  level: 'service',
  title: 'outputs, emitted by one slot of a real worker',
  unit: 'outputs/s',
  better: 'higher',
  note: 'one continuous slot emits 40,000 outputs of 150 bytes in one burst; from its start to the last in the stream',
  subjects: onEachStore(emitted),
}

export const pop100 = {
  id: 'rest-pop-100',
  level: 'service',
  title: 'REST pop, 100 outputs a request',
  unit: 'outputs/s',
  better: 'higher',
  note: '4 keep-alive connections from this process; the limit returns as many bytes without a store',
  subjects: { ...onEachStore(popped), 'limit: raw http, same answer': answered },
  aim: 500_000,
}
