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
import { FLEETWORKERS } from '../fleetworker/kinds.ts'
import type { Fate } from './faults.ts'
import { PASS } from './faults.ts'
import { verdict, type Wanted } from './oracle.ts'
import type { Scenario } from './scenarios.ts'
import type { Variants } from './life.ts'
import { FaultFixture, type Masters } from './fixture.ts'

const PEACE_MS = 5_000
const LATE_MS = 3_000
const STALE_MS = 5_000
const RELIST_MS = 18 * 60_000
const FEED_PASS_MS = 60_000

export interface Point {
  readonly name: string
  /** Called right before the act. */
  readonly arm: (fixture: FaultFixture) => void
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
  variants: Variants | ((fixture: FaultFixture) => Variants) = {},
): Promise<string | undefined> {
  const fixture = await begun(masters, scenario, variants)
  try {
    point?.arm(fixture)
    await scenario.act(fixture)
    const { length: since } = await fixture.configs()
    await fixture.pass((point?.lastsMs ?? 0) + (scenario.latencyMs ?? 0))
    const wanted: Wanted = { ...scenario, latencyMs: point?.latencyMs ?? 0 }
    return (await verdict(fixture, wanted)) ?? setback((await fixture.configs()).slice(since), scenario)
  } finally {
    await fixture.close()
  }
}

async function begun(
  masters: Masters,
  scenario: Scenario,
  variants: Variants | ((fixture: FaultFixture) => Variants),
): Promise<FaultFixture> {
  const fixture = new FaultFixture(masters)
  fixture.variants = typeof variants === 'function' ? variants(fixture) : variants
  await fixture.work()
  await fixture.start()
  await scenario.before(fixture)
  await fixture.pass(PEACE_MS)
  fixture.faults.restart()
  return fixture
}

/** Finds an older spec that was applied after the final one. */
function setback(configs: readonly object[], { end }: Scenario): string | undefined {
  const first = configs.findIndex((config) => isDeepStrictEqual(config, end.config))
  const other = first === -1 ? undefined : configs.slice(first).find((config) => !isDeepStrictEqual(config, end.config))
  return other === undefined ? undefined : `an older spec was applied again: ${JSON.stringify(other)}`
}

const eventsOf = (fixture: FaultFixture): number =>
  fixture.api.server.store.history.filter(({ kind }) => kind === FLEETWORKERS).length

export async function record(masters: Masters, scenario: Scenario): Promise<Recording> {
  const fixture = await begun(masters, scenario, {})
  const eventsAtWrite: number[] = []
  const eventsBefore = eventsOf(fixture)
  let [feedEvents, isOver] = [0, false]
  fixture.hides = () => {
    if (!isOver) feedEvents += 1
    return false
  }
  fixture.faults.rule = (_, write) =>
    write === undefined || isOver ? PASS : { kind: 'pass', answered: () => void eventsAtWrite.push(eventsOf(fixture)) }
  await scenario.act(fixture)
  await fixture.pass((scenario.latencyMs ?? 0) + PEACE_MS)
  isOver = true
  const recording = { eventsAtWrite, events: eventsOf(fixture) - eventsBefore, eventsBefore, feedEvents }
  await fixture.close()
  return recording
}

const each = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n + 1)

/** Sets the fate of the n-th write. */
const atWrite =
  (n: number, fate: (fixture: FaultFixture) => Fate) =>
  (fixture: FaultFixture): void => {
    fixture.faults.rule = (_, write) => (write === n ? fate(fixture) : PASS)
  }

const DEATHS: Readonly<Record<string, (fixture: FaultFixture) => Fate>> = {
  'before it is sent': (fixture) => {
    fixture.kill()
    return PASS
  },
  'after it took effect': (fixture) => ({ kind: 'pass', effect: () => fixture.kill() }),
  'after its response': (fixture) => ({ kind: 'pass', answered: () => fixture.kill() }),
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
      arm: (fixture) => {
        let seen = 0
        fixture.api.server.store.listeners.add(({ kind, version }) => {
          if (kind === FLEETWORKERS && (seen += 1) === n) fixture.api.hidden.add(version)
        })
      },
    })),
    ...each(feedEvents).map((n): Point => ({
      name: `event ${n} of the feed is lost`,
      latencyMs: FEED_PASS_MS,
      arm: (fixture) => {
        let seen = 0
        fixture.hides = () => (seen += 1) === n
      },
    })),
  ]
}

/** Runs the next user action at the n-th write, which itself has this fate. */
const meanwhile = ({ next }: Scenario, n: number, fate: (fixture: FaultFixture) => Fate): Point['arm'] =>
  atWrite(n, (fixture) => {
    const own = fate(fixture)
    void next?.(fixture)
    return own
  })

const LATE: Fate = { kind: 'late', ms: LATE_MS }
const INTERRUPTIONS: Readonly<Record<string, (fixture: FaultFixture) => Fate>> = {
  'is lost with its sender': DEATHS['before it is sent'] ?? (() => PASS),
  'is the last of its sender': DEATHS['after it took effect'] ?? (() => PASS),
  'is late': () => LATE,
  'is late, and its sender is killed': (fixture) => {
    fixture.kill()
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
      arm: atWrite(n, (fixture) => ({ kind: 'pass', answered: () => goBack(fixture, view) })),
    })),
  )

function goBack(fixture: FaultFixture, view: number): void {
  const versions = fixture.api.server.store.history
    .filter(({ kind }) => kind === FLEETWORKERS)
    .map(({ version }) => version)
  fixture.api.horizon = view === 0 ? 0 : (versions[view - 1] ?? 0)
  fixture.kill()
  fixture.time.after(STALE_MS, () => (fixture.api.horizon = Infinity))
}
