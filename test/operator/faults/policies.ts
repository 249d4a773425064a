/**
 * Injects one fault at one point of a scenario, which is first recorded without a fault:
 *
 *   intermediate   the operator is killed at the n-th write: before it is sent, after its effect, after its response
 *   failedWrites        the n-th write is lost, broken, rejected or late, and the operator continues
 *   unobserved     the n-th event of the watch, or of the master's feed, is never delivered
 *   interrupted    the next user action happens when the n-th write is lost with its sender, or is three seconds late
 *   stale          after the n-th write a new operator reads an older state of the API server for five seconds
 *
 * The name of a point repeats it: POINT='…' npm test -- test/operator/faults/policies
 *
 * @see Sun et al. 2022, "Automatic reliability testing for cluster management controllers" (Sieve)
 */
import { isDeepStrictEqual } from 'node:util'
import { FLEETWORKERS } from '../fleetworker/reconcile-world.ts'
import type { Fate } from './faults.ts'
import { PASS } from './faults.ts'
import { verdict, type Wanted } from './oracle.ts'
import type { Scenario } from './scenarios.ts'
import type { Variants } from './life.ts'
import { World, type Masters } from './world.ts'

const PEACE_MS = 5_000
const LATE_MS = 3_000
const STALE_MS = 5_000
const RELIST_MS = 18 * 60_000
const FEED_PASS_MS = 60_000

export interface Point {
  readonly name: string
  /** Called right before the act. */
  readonly arm: (world: World) => void
  /** How long a missed event may stay unnoticed. */
  readonly latencyMs?: number
  /** How long the fault lasts. */
  readonly lastsMs?: number
}

interface Recording {
  /** Number of events of FleetWorkers before each write. */
  readonly eventsAtWrite: readonly number[]
  readonly events: number
  readonly eventsBefore: number
  readonly feedEvents: number
}

export type Policy = (recording: Recording, scenario: Scenario) => readonly Point[]

/** Runs the scenario to its end, with or without a fault. @returns what is wrong at the end. */
export async function run(
  masters: Masters,
  scenario: Scenario,
  point?: Point,
  variants: Variants | ((world: World) => Variants) = {},
): Promise<string | undefined> {
  const world = await begun(masters, scenario, variants)
  try {
    point?.arm(world)
    await scenario.act(world)
    const { length: since } = await world.configs()
    await world.pass((point?.lastsMs ?? 0) + (scenario.latencyMs ?? 0))
    const wanted: Wanted = { ...scenario, latencyMs: point?.latencyMs ?? 0 }
    return (await verdict(world, wanted)) ?? setback((await world.configs()).slice(since), scenario)
  } finally {
    await world.close()
  }
}

async function begun(
  masters: Masters,
  scenario: Scenario,
  variants: Variants | ((world: World) => Variants),
): Promise<World> {
  const world = new World(masters)
  world.variants = typeof variants === 'function' ? variants(world) : variants
  await world.work()
  await world.start()
  await scenario.before(world)
  await world.pass(PEACE_MS)
  world.faults.restart()
  return world
}

/** Finds an older spec that was applied after the final one. */
function setback(configs: readonly object[], { end }: Scenario): string | undefined {
  const first = configs.findIndex((config) => isDeepStrictEqual(config, end.config))
  const other = first === -1 ? undefined : configs.slice(first).find((config) => !isDeepStrictEqual(config, end.config))
  return other === undefined ? undefined : `an older spec was applied again: ${JSON.stringify(other)}`
}

const eventsOf = (world: World): number =>
  world.api.server.store.history.filter(({ kind }) => kind === FLEETWORKERS).length

export async function record(masters: Masters, scenario: Scenario): Promise<Recording> {
  const world = await begun(masters, scenario, {})
  const eventsAtWrite: number[] = []
  const eventsBefore = eventsOf(world)
  let [feedEvents, isOver] = [0, false]
  world.hides = () => {
    if (!isOver) feedEvents += 1
    return false
  }
  world.faults.rule = (_, write) =>
    write === undefined || isOver ? PASS : { kind: 'pass', answered: () => void eventsAtWrite.push(eventsOf(world)) }
  await scenario.act(world)
  await world.pass((scenario.latencyMs ?? 0) + PEACE_MS)
  isOver = true
  const recording = { eventsAtWrite, events: eventsOf(world) - eventsBefore, eventsBefore, feedEvents }
  await world.close()
  return recording
}

const each = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n + 1)

/** Sets the fate of the n-th write. */
const atWrite =
  (n: number, fate: (world: World) => Fate) =>
  (world: World): void => {
    world.faults.rule = (_, write) => (write === n ? fate(world) : PASS)
  }

const DEATHS: Readonly<Record<string, (world: World) => Fate>> = {
  'before it is sent': (world) => {
    world.kill()
    return PASS
  },
  'after it took effect': (world) => ({ kind: 'pass', effect: () => world.kill() }),
  'after its response': (world) => ({ kind: 'pass', answered: () => world.kill() }),
}

export const intermediate = ({ eventsAtWrite }: Recording): readonly Point[] =>
  each(eventsAtWrite.length).flatMap((n) =>
    Object.entries(DEATHS).map(([when, fate]) => ({ name: `dies at write ${n} ${when}`, arm: atWrite(n, fate) })),
  )

const RESPONSES: Readonly<Record<string, Fate>> = {
  'is lost': { kind: 'lose' },
  'never arrives': { kind: 'break' },
  'is late': { kind: 'late', ms: LATE_MS },
  'is rejected with 429': { kind: 'refuse', status: 429 },
  'is rejected with 500': { kind: 'refuse', status: 500 },
  'is rejected with 503': { kind: 'refuse', status: 503 },
}

export const failedWrites = ({ eventsAtWrite }: Recording): readonly Point[] =>
  each(eventsAtWrite.length).flatMap((n) =>
    Object.entries(RESPONSES).map(([what, fate]) => ({ name: `write ${n} ${what}`, arm: atWrite(n, () => fate) })),
  )

export function unobserved({ events, feedEvents }: Recording): readonly Point[] {
  return [
    ...each(events).map((n): Point => ({
      name: `event ${n} of the watch is lost`,
      latencyMs: RELIST_MS,
      arm: (world) => {
        let seen = 0
        world.api.server.store.listeners.add(({ kind, version }) => {
          if (kind === FLEETWORKERS && (seen += 1) === n) world.api.hidden.add(version)
        })
      },
    })),
    ...each(feedEvents).map((n): Point => ({
      name: `event ${n} of the feed is lost`,
      latencyMs: FEED_PASS_MS,
      arm: (world) => {
        let seen = 0
        world.hides = () => (seen += 1) === n
      },
    })),
  ]
}

/** Runs the next user action at the n-th write, which itself has this fate. */
const meanwhile = ({ next }: Scenario, n: number, fate: (world: World) => Fate): Point['arm'] =>
  atWrite(n, (world) => {
    const own = fate(world)
    void next?.(world)
    return own
  })

const LATE: Fate = { kind: 'late', ms: LATE_MS }
const INTERRUPTIONS: Readonly<Record<string, (world: World) => Fate>> = {
  'is lost with its sender': DEATHS['before it is sent'] ?? (() => PASS),
  'is the last of its sender': DEATHS['after it took effect'] ?? (() => PASS),
  'is late': () => LATE,
  'is late, and its sender is killed': (world) => {
    world.kill()
    return LATE
  },
}

export const interrupted = ({ eventsAtWrite }: Recording, scenario: Scenario): readonly Point[] =>
  each(eventsAtWrite.length).flatMap((n) =>
    Object.entries(INTERRUPTIONS).map(([what, fate]) => ({
      name: `write ${n} ${what}, and users continue`,
      lastsMs: LATE_MS,
      arm: meanwhile(scenario, n, fate),
    })),
  )

/** `view`: number of FleetWorker events that are visible. */
export const stale = ({ eventsAtWrite }: Recording): readonly Point[] =>
  each(eventsAtWrite.length).flatMap((n) =>
    Array.from({ length: eventsAtWrite[n - 1] ?? 0 }, (_, view) => ({
      name: `after write ${n} the view is that of event ${view}`,
      lastsMs: STALE_MS,
      arm: atWrite(n, (world) => ({ kind: 'pass', answered: () => goBack(world, view) })),
    })),
  )

function goBack(world: World, view: number): void {
  const versions = world.api.server.store.history
    .filter(({ kind }) => kind === FLEETWORKERS)
    .map(({ version }) => version)
  world.api.horizon = view === 0 ? 0 : (versions[view - 1] ?? 0)
  world.kill()
  world.time.after(STALE_MS, () => (world.api.horizon = Infinity))
}
