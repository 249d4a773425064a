/** Puts one Redis and processes of clients into namespaces, and makes faults happen to them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom, systemTime, type Random } from '../../src/runtime/index.ts'
import { RedisServer, type RedisOptions } from '../kit/redis-server.ts'
import { ClientProcess, ClientProcesses } from './client-processes.ts'
import type { SteppedClock } from './clock-step.ts'
import type { Defect } from './defects.ts'
import { Network, type Host } from './network.ts'

/** How long clients use the same keys. */
const ROUND_MS = 1_000
/** Each namespace has all ports. */
const PORTS = { data: 6_379, sentinel: 26_379 }

export interface ClientsOptions {
  readonly folder: string
  readonly url: string
  readonly processes: number
  readonly clientsPerProcess: number
  readonly seed: number
  readonly defect?: Defect
  /** False: no value, lock or lease ends by time. */
  readonly hasDeadlines?: boolean
}

/** Starts processes of clients, each in a namespace of its own. They are held. */
export async function startClients(network: Network, options: ClientsOptions): Promise<ClientProcesses> {
  const { folder, url, processes, clientsPerProcess, seed, defect, hasDeadlines = true } = options
  mkdirSync(folder, { recursive: true })
  const all = Array.from({ length: processes }, (_, i) => {
    const name = `p${i}`
    return new ClientProcess(network, network.add(), {
      name,
      url,
      clients: clientsPerProcess,
      seed: seed * processes + i,
      roundMs: ROUND_MS,
      hasDeadlines,
      history: join(folder, `${name}.jsonl`),
      ...(defect !== undefined && { defect }),
    })
  })
  const clients = new ClientProcesses(all)
  try {
    await clients.ready()
  } catch (error) {
    await clients.close()
    throw error
  }
  return clients
}

/** Starts a Redis in a namespace, or a sentinel. */
export async function startRedisAt(
  network: Network,
  host: Host,
  options: RedisOptions,
  { role = 'data', clock }: { readonly role?: keyof typeof PORTS; readonly clock?: SteppedClock | undefined } = {},
): Promise<RedisServer> {
  const elsewhere = { host: host.address, command: network.within(host, ...(clock?.command ?? [])) }
  const server = new RedisServer(PORTS[role], { ...options, elsewhere }, role === 'sentinel')
  try {
    await server.start()
  } catch (error) {
    await server.close()
    throw error
  }
  return server
}

const FAULTS = ['cut_requests', 'cut_replies', 'part', 'pause', 'kill', 'part_and_kill'] as const
export type FaultKind = (typeof FAULTS)[number]

export interface FaultCount {
  readonly kind: FaultKind
  /** From the end of the fault until the observer is served. */
  readonly servedAfterMs: number
}

interface FaultTarget {
  readonly network: Network
  readonly host: Host
  readonly server: RedisServer
  readonly clients: ClientProcesses
}

interface FaultPlan {
  readonly seed: number
  /** Each kind occurs before one occurs again. Default: all. */
  readonly kinds?: readonly FaultKind[]
  /** @param count Faults so far. */
  readonly isDone: (count: number) => boolean
}

/** Makes faults, one after the other. */
export async function makeFaults(
  target: FaultTarget,
  { seed, kinds = FAULTS, isDone }: FaultPlan,
): Promise<readonly FaultCount[]> {
  const random = seededRandom(seed)
  const counts: FaultCount[] = []
  let left: FaultKind[] = []
  while (!isDone(counts.length)) {
    await systemTime.sleep(300 + 900 * random.unit())
    if (left.length === 0) left = [...kinds]
    const [kind = 'kill'] = left.splice(Math.floor(random.unit() * left.length), 1)
    await makeFault(target, kind, random)
    const endedMs = performance.now()
    await target.clients.observer.ask({ kind: 'probe' }, 'served')
    counts.push({ kind, servedAfterMs: performance.now() - endedMs })
  }
  return counts
}

async function makeFault(
  { network, host, server, clients }: FaultTarget,
  kind: FaultKind,
  random: Random,
): Promise<void> {
  const durationMs = 200 + 2_300 * random.unit()
  const cutOff = clients.all.filter(() => random.unit() < 0.6).map((each) => each.host)
  const hosts = cutOff.length === 0 ? [clients.observer.host] : cutOff
  if (kind === 'cut_requests') network.cut(hosts, [host])
  if (kind === 'cut_replies') network.cut([host], hosts)
  if (kind === 'part' || kind === 'part_and_kill') network.part(hosts, [host])
  if (kind === 'pause') server.pause()
  if (kind === 'kill' || kind === 'part_and_kill') await server.kill()
  await systemTime.sleep(durationMs)
  if (kind === 'kill' || kind === 'part_and_kill') await server.start()
  if (kind === 'pause') server.resume()
  network.heal()
}

/** `{ kind: 'kill', … }[]` as one line: how often each, and the longest time until service. */
export function summaryOf(counts: readonly FaultCount[]): string {
  const longestMs = Math.max(0, ...counts.map(({ servedAfterMs }) => servedAfterMs))
  return `faults ${JSON.stringify(countOf(counts))}, service at most ${Math.ceil(longestMs)} ms after their end`
}

/** How often each kind of fault occurred. */
export function countOf(counts: readonly FaultCount[]): Readonly<Record<FaultKind, number>> {
  const entries = FAULTS.map((kind) => [kind, counts.filter((each) => each.kind === kind).length] as const)
  return Object.fromEntries(entries) as Record<FaultKind, number>
}
