/**
 * Runs the operator's client of the master against a real master, through a proxy that a test can script, on virtual
 * time.
 */
import { afterEach } from '@jest/globals'
import { Registry } from 'prom-client'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import {
  createFleetMetrics,
  Fleet,
  type FleetDeps,
  type OpenReason,
  type Registered,
  type Seen,
  type TableChange,
  type TypeReading,
} from '../../../src/operator/fleet/index.ts'
import { seededRandom, systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { FaultyProxy, type Deed, type SeenRequest } from '../../client/faulty-proxy.ts'
import { recordingLog } from '../../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const PATIENCE_MS = 4_000
const PATIENT = new AbortController().signal

export interface FleetFixture {
  readonly fleet: Fleet
  readonly time: VirtualTime
  readonly proxy: FaultyProxy
  readonly changes: TableChange[]
  readonly turns: (OpenReason | null)[]
  readonly token: { current: string }
  readonly leads: { current: boolean }
  readonly signal: AbortSignal
  readonly until: (what: string, holds: () => boolean) => Promise<void>
  /** Advances virtual time until the call has finished. */
  readonly ended: <T>(call: Promise<T>) => Promise<T>
  /** Advances virtual time by `ms`. */
  readonly pass: (ms: number) => Promise<void>
  readonly metric: (line: RegExp) => Promise<number>
  /** Requests of the fleet client that match, for example `GET /api/v1/me`. */
  readonly asked: (like: RegExp) => readonly SeenRequest[]
}

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()))
})

export interface FleetFixtureOptions extends Partial<FleetDeps> {
  readonly time?: VirtualTime
  readonly script?: readonly Deed[]
  readonly types?: readonly string[]
  /** What lists contain; `configs` by default. */
  readonly reading?: TypeReading
  readonly isIdle?: boolean
  readonly firstToken?: string
}

/** Starts a master on the virtual time of the fleet client. */
export async function masterOn(time: VirtualTime): Promise<TestMaster> {
  return runMaster({ backend: new MemoryBackend({ clock: time, random: systemRandom }), clock: time, timers: time })
}

/** Creates a fleet client that reads `types` (default `mailer`). Waits for the first list unless `isIdle` is set. */
export async function fleetOf(
  masterUrl: string,
  {
    script = [],
    types = ['mailer'],
    reading = 'configs',
    isIdle = false,
    firstToken = TOKENS.admin,
    time = new VirtualTime(),
    ...options
  }: FleetFixtureOptions = {},
): Promise<FleetFixture> {
  const proxy = await FaultyProxy.start(masterUrl, ...script)
  const registry = new Registry()
  const [changes, turns]: [TableChange[], (OpenReason | null)[]] = [[], []]
  const [token, leads] = [{ current: firstToken }, { current: true }]
  const fleet = new Fleet({
    masterUrl: proxy.url,
    token: () => token.current,
    clock: time,
    timers: time,
    random: seededRandom(1),
    log: recordingLog(),
    metrics: createFleetMetrics(registry),
    mayWrite: () => leads.current,
    onBreaker: (reason) => turns.push(reason),
    ...options,
  })
  fleet.onChange((change) => changes.push(change))
  fleet.setTypes(new Map(types.map((type) => [type, reading])))
  const end = new AbortController()
  const running = fleet.run(end.signal)
  const until = (what: string, holds: () => boolean): Promise<void> => untilSo(time, what, holds)
  ends.push(async () => {
    end.abort()
    await proxy.stop()
    await running
  })
  if (!isIdle) await until('the types are listed', () => fleet.isSynced)
  return {
    fleet,
    time,
    proxy,
    changes,
    turns,
    token,
    leads,
    signal: PATIENT,
    until,
    ended: async (call) => {
      let isOver = false
      call.then(
        () => (isOver = true),
        () => (isOver = true),
      )
      await until('the call has finished', () => isOver)
      return call
    },
    pass: async (ms) => {
      const thenMs = time.monotonicMs() + ms
      await until(`${ms} ms have passed`, () => time.monotonicMs() >= thenMs)
    },
    metric: async (line) =>
      Number(
        / (?<value>[\d.]+)$/.exec((await registry.metrics()).split('\n').find((each) => line.test(each)) ?? '')
          ?.groups?.['value'] ?? Number.NaN,
      ),
    asked: (like) => proxy.seen.filter(({ method, path }) => like.test(`${method} ${path}`)),
  }
}

/** Advances virtual time while real sockets work. */
async function untilSo(time: VirtualTime, what: string, holds: () => boolean): Promise<void> {
  const startedMs = performance.now()
  while (!holds()) {
    if (performance.now() - startedMs > PATIENCE_MS) throw new Error(`timed out waiting until ${what}`)
    await time.advance(5)
  }
}

export function registered(seen: Seen): Registered {
  if (seen.kind !== 'registered') throw new Error(`the worker is ${seen.kind}`)
  return seen
}

/** Connects a worker on its own socket: its registration causes an event. */
export async function connectWorker(master: TestMaster, id: string, type = 'mailer'): Promise<WebSocket> {
  const socket = new WebSocket(`${master.url.replace('http', 'ws')}/api/v1/automations/${type}/workers/${id}/control`, {
    headers: { authorization: `Bearer ${TOKENS.worker}` },
    perMessageDeflate: false,
  })
  ends.push(async () => socket.terminate())
  await once(socket, 'open')
  socket.send(
    JSON.stringify({
      type: 'register',
      worker_id: id,
      automation_type: type,
      protocol_version: 1,
      hardware: { cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' },
    }),
  )
  socket.send(JSON.stringify({ type: 'ping', id: 'registered' }))
  await once(socket, 'message')
  return socket
}

export const pathOf = (id: string, below = '', type = 'mailer'): string =>
  `/api/v1/automations/${type}/workers/${id}${below}`
