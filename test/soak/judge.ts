/** Judges the samples of a soak: which bounds held, for each life of each process and for the store. */
import type { Probe } from './probe.ts'
import { lowerQuartile, startAndEnd, theilSen } from './slope.ts'
import type { StoreSize } from './store-process.ts'

export type SoakSample =
  | {
      readonly kind: 'process'
      readonly atMs: number
      readonly name: string
      readonly life: number
      readonly probe: Probe
    }
  | { readonly kind: 'store'; readonly atMs: number; readonly size: StoreSize }
  | { readonly kind: 'fault'; readonly atMs: number; readonly what: string }

export interface Bounds {
  /** Samples of a life before this age are not judged. */
  readonly warmUpMs: number
  /** A life with less than this after its warm-up is not judged. */
  readonly leastMs: number
}

export interface Row {
  readonly what: string
  readonly measured: string
  readonly bound: string
  readonly verdict: 'held' | 'broken' | 'not judged'
}

/** How the text of a fault of a leading operator ends. */
export const LEADS = ', which leads'
/** How the text of a fault of the store ends. */
export const OF_STORE = 'of the store'
const MIB_PER_HOUR = 0.5
const CHANGE = 0.02
/** Small counts change by a few when connections move. A connection has about ten listeners and a few promises. */
const CHANGE_AT_LEAST = { openFiles: 6, listeners: 60, timers: 12, promises: 30 } as const
/** Keys of tasks in flight come and go. */
const KEYS_AT_LEAST = 10
const MIB_AT_LEAST = 0.1
/** In a shorter life the slope is noise; the growth as a whole is judged. */
const SLOPE_MIN_MS = 1_800_000
const SHORT_MIB = 4
const DELAY_MS = 100
/** A process that waited for a CPU for more than this share of its time is not judged for its delay. */
const STARVED = 0.1
/** After a fault, connections move. */
const UNSETTLED_MS = 180_000
const LOG_MIB = 64
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const COUNTS = Object.keys(CHANGE_AT_LEAST) as (keyof typeof CHANGE_AT_LEAST)[]

type ProcessSample = Extract<SoakSample, { kind: 'process' }>
type StoreSample = Extract<SoakSample, { kind: 'store' }>

/**
 * @returns one row for each bound of each life of each process, and of the store. An operator that takes over begins
 * another life: a leader does more than a standby.
 */
export function judgeSamples(samples: readonly SoakSample[], bounds: Bounds): readonly Row[] {
  const lives = new Map<string, ProcessSample[]>()
  let failovers = 0
  for (const sample of samples) {
    if (sample.kind === 'fault' && sample.what.endsWith(LEADS)) failovers += 1
    if (sample.kind !== 'process') continue
    const role = sample.name.startsWith('operator') && failovers > 0 ? `, after failover ${failovers}` : ''
    const life = `${sample.name}, life ${sample.life}${role}`
    lives.set(life, [...(lives.get(life) ?? []), sample])
  }
  const faultsMs = samples.flatMap((sample) => (sample.kind === 'fault' ? sample.atMs : []))
  return [
    ...[...lives].flatMap(([name, life]) => judgeLife(name, life, faultsMs, bounds)),
    ...judgeStore(samples, bounds),
  ]
}

function judgeLife(
  name: string,
  life: readonly ProcessSample[],
  faultsMs: readonly number[],
  { warmUpMs, leastMs }: Bounds,
): readonly Row[] {
  const firstMs = life[0]?.atMs ?? 0
  const warm = life.filter(({ atMs }) => atMs - firstMs >= warmUpMs)
  const lengthMs = (warm.at(-1)?.atMs ?? 0) - (warm[0]?.atMs ?? 0)
  if (lengthMs < leastMs)
    return [
      {
        what: name,
        measured: `${minutes((life.at(-1)?.atMs ?? 0) - firstMs)} min`,
        bound: `${minutes(warmUpMs + leastMs)} min`,
        verdict: 'not judged',
      },
    ]
  const calm = warm.filter(({ atMs }) => faultsMs.every((faultMs) => atMs < faultMs || atMs > faultMs + UNSETTLED_MS))
  return [
    memoryRow(name, warm, lengthMs),
    ...COUNTS.map((count) =>
      growth(
        `${name}: ${count}`,
        calm.flatMap(({ probe }) => probe[count] ?? []),
        CHANGE_AT_LEAST[count],
      ),
    ),
    delayRow(name, warm, lengthMs),
  ]
}

function memoryRow(name: string, life: readonly ProcessSample[], lengthMs: number): Row {
  const slopeOf = (pick: (probe: Probe) => number): number =>
    theilSen(life.map(({ atMs, probe }) => ({ x: atMs / HOUR_MS, y: pick(probe) })))
  const { start, end } = startAndEnd(life.map(({ probe }) => probe.rssMib))
  const resident = slopeOf(({ rssMib }) => rssMib)
  const isShort = lengthMs < SLOPE_MIN_MS
  const isHeld = isShort ? end - start <= SHORT_MIB : resident <= MIB_PER_HOUR
  return {
    what: `${name}: resident memory`,
    measured:
      `${signed(resident)} MiB/h over ${minutes(lengthMs)} min, ${round(start)} → ${round(end)} MiB ` +
      `(heap ${signed(slopeOf(({ heapMib }) => heapMib))} MiB/h)`,
    bound: isShort ? `+${SHORT_MIB} MiB in a life of less than 30 min` : `${MIB_PER_HOUR} MiB/h`,
    verdict: isHeld ? 'held' : 'broken',
  }
}

/** A process that waits for a CPU is late without a fault of its own. */
function delayRow(name: string, life: readonly ProcessSample[], lengthMs: number): Row {
  const delayMs = life.at(-1)?.probe.delayP99Ms ?? 0
  const waitedMs = (life.at(-1)?.probe.cpuWaitMs ?? 0) - (life[0]?.probe.cpuWaitMs ?? 0)
  const verdictOfLate = waitedMs > lengthMs * STARVED ? 'not judged' : 'broken'
  return {
    what: `${name}: event loop delay p99`,
    measured: `${delayMs.toFixed(0)} ms; waited for a CPU ${((100 * waitedMs) / lengthMs).toFixed(0)} % of the time`,
    bound: `${DELAY_MS} ms`,
    verdict: delayMs <= DELAY_MS ? 'held' : verdictOfLate,
  }
}

/** Compares lower quartiles: connections come and go with the load, and a leak raises the lowest values as well. */
function growth(what: string, values: readonly number[], atLeast: number): Row {
  const third = Math.max(1, Math.floor(values.length / 3))
  const start = lowerQuartile(values.slice(0, third))
  const end = lowerQuartile(values.slice(-third))
  return {
    what,
    measured: `lower quartile ${round(start)} → ${round(end)}`,
    bound: `+${CHANGE * 100} %, at least +${atLeast}`,
    verdict: values.length === 0 || end - start <= Math.max(atLeast, start * CHANGE) ? 'held' : 'broken',
  }
}

function steady(what: string, values: readonly number[], atLeast: number): Row {
  const { start, end } = startAndEnd(values)
  const allowed = Math.max(atLeast, start * CHANGE)
  return {
    what,
    measured: `${round(start)} → ${round(end)}`,
    bound: `± ${CHANGE * 100} %, at least ± ${atLeast}`,
    verdict: Math.abs(end - start) <= allowed ? 'held' : 'broken',
  }
}

function judgeStore(samples: readonly SoakSample[], { warmUpMs, leastMs }: Bounds): readonly Row[] {
  const stores = longestLifeOfStore(samples)
  const firstMs = stores[0]?.atMs ?? 0
  const warm = stores.filter(({ atMs }) => atMs - firstMs >= warmUpMs)
  if ((warm.at(-1)?.atMs ?? 0) - (warm[0]?.atMs ?? 0) < leastMs) return []
  const valuesOf = (name: string): readonly number[] => warm.flatMap(({ size }) => size[name] ?? [])
  return Object.keys(warm[0]?.size ?? {}).map((name) => storeRow(name, valuesOf(name)))
}

/** A store that starts again has other buffers, and less fragmentation. */
function longestLifeOfStore(samples: readonly SoakSample[]): readonly StoreSample[] {
  const lives: StoreSample[][] = [[]]
  for (const sample of samples) {
    if (sample.kind === 'fault' && sample.what.endsWith(OF_STORE)) lives.push([])
    if (sample.kind === 'store') lives.at(-1)?.push(sample)
  }
  return lives.toSorted((a, b) => b.length - a.length)[0] ?? []
}

function storeRow(name: string, values: readonly number[]): Row {
  const { start, end } = startAndEnd(values)
  const what = `store: ${name}`
  if (name === 'usedMemoryMib')
    return {
      what,
      measured: `${round(start)} → ${round(end)}`,
      bound: 'otherMemoryMib is without what has a bound of its own',
      verdict: 'not judged',
    }
  if (name === 'logMib') {
    const most = Math.max(...values)
    const verdict = most <= LOG_MIB ? 'held' : 'broken'
    return { what, measured: `at most ${most.toFixed(1)}`, bound: `${LOG_MIB}`, verdict }
  }
  return steady(what, values, name === 'keys' ? KEYS_AT_LEAST : MIB_AT_LEAST)
}

const minutes = (ms: number): number => Math.round(ms / MINUTE_MS)
const round = (value: number): string => (Number.isInteger(value) ? `${value}` : value.toFixed(2))
const signed = (value: number): string => `${value >= 0 ? '+' : ''}${value.toFixed(2)}`
