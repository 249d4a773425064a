/**
 * Opens ten thousand connections that never complete a request. Other clients still get responses, the memory stays
 * bounded, and the time limit closes each of the connections.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { SLACK } from '../kit/index.ts'
import { Fleet, type Proc } from './fleet.ts'

const COUNT = 10_000
const CONCURRENT = 200
/** Node keeps about 10 KiB for a connection with incomplete headers. 30 KiB leave a margin for the kernel and V8. */
const MAX_GROWTH_MIB = 300
/** The limit for headers is 10 s (reliability: limits), checked every second. The rest is for a slow machine. */
const ENDED_WITHIN_MS = 60_000
const UNFINISHED = [
  '',
  'G',
  'GET /healthz HTTP/1.1\r\nHost: m\r\nX-Slow: ',
  'POST /api/v1/automations/http-request/tasks HTTP/1.1\r\n' +
    'Host: m\r\n' +
    'Content-Type: application/json\r\n' +
    'Content-Length: 1000',
]

const fleets: Fleet[] = []
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()))
})

const rssMib = ({ child: { pid } }: Proc): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

/** Opens a half-open connection. `ended` resolves when it is closed. */
function halfOpen(port: number, bytes: string): { readonly opened: Promise<void>; readonly ended: Promise<void> } {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {}).resume() // Only the close event matters; responses are discarded.
  const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
  return {
    opened: new Promise(
      (resolve) =>
        void socket
          .once('connect', () => socket.write(bytes === '' ? '\r\n' : bytes, () => resolve()))
          .once('close', resolve),
    ),
    ended,
  }
}

async function slowestAnswerMs(fleet: Fleet, times: number): Promise<number> {
  let slowest = 0
  for (let each = 0; each < times; each += 1) {
    const startedMs = performance.now()
    await fleet.ok('POST', '/automations/http-request/tasks', { payload: { url: 'http://192.0.2.1/' } })
    slowest = Math.max(slowest, performance.now() - startedMs)
  }
  return slowest
}

describe(`${COUNT} half-open connections`, () => {
  it('use bounded memory, do not delay other clients, and are all closed', async () => {
    const fleet = new Fleet('memory://')
    fleets.push(fleet)
    const master = await fleet.startMaster()
    await slowestAnswerMs(fleet, 20)
    const beforeMib = rssMib(master)

    const ends: Promise<void>[] = []
    for (let from = 0; from < COUNT; from += CONCURRENT) {
      const some = Array.from({ length: CONCURRENT }, (_, index) =>
        halfOpen(Number(new URL(fleet.url).port), UNFINISHED[index % UNFINISHED.length] ?? ''),
      )
      await Promise.all(some.map(({ opened }) => opened))
      ends.push(...some.map(({ ended }) => ended))
    }
    const whileOpenMs = await slowestAnswerMs(fleet, 50)
    const duringMib = rssMib(master)

    const startedMs = performance.now()
    await Promise.race([Promise.all(ends), new Promise((resolve) => void setTimeout(resolve, ENDED_WITHIN_MS).unref())])
    expect(sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(0)
    const endedMs = performance.now() - startedMs
    await slowestAnswerMs(fleet, 20)
    const figures = {
      beforeMib: Math.round(beforeMib),
      duringMib: Math.round(duringMib),
      afterMib: Math.round(rssMib(master)),
      whileOpenMs: Math.round(whileOpenMs),
      endedMs: Math.round(endedMs),
    }
    if (process.env['FIGURES'] !== undefined) console.info(figures)
    expect(figures.whileOpenMs).toBeLessThan(2_000 * SLACK)
    expect(figures.duringMib - figures.beforeMib).toBeLessThan(MAX_GROWTH_MIB)
    expect(figures.afterMib - figures.beforeMib).toBeLessThan(MAX_GROWTH_MIB)
    expect(master.child.exitCode).toBeNull()
  }, 180_000)
})
