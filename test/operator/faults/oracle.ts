/**
 * Checks what has to hold once faults have stopped. Within a minute the worker has the config of the FleetWorker, and
 * the status shows it. After that, further reconciles write nothing. The operator logged no error, and no secret is
 * visible.
 */
import { isDeepStrictEqual } from 'node:util'
import { FLEETWORKERS } from '../fleetworker/reconcile-world.ts'
import type { Scenario } from './scenarios.ts'
import { nameOf } from './faults.ts'
import { CANARY, type World } from './world.ts'

const WITHIN_MS = 60_000
const MORE_PASSES = 50
const PASS_MS = 50
/** Status writes are batched and events are rate-limited. */
const LAST_WRITES_MS = 3_000
/** Errors that the operator may log because of the faults that a test injects. */
const EXPECTED = /^the master (is unavailable|rejects the token|rejected a request)/

export interface Wanted extends Pick<Scenario, 'end'> {
  /** How much longer than a minute the operator may take. */
  readonly latencyMs?: number
}

/** Returns what is wrong at the end; `undefined`: nothing. */
export async function verdict(world: World, { end, latencyMs = 0 }: Wanted): Promise<string | undefined> {
  const { time } = world
  const untilMs = time.monotonicMs() + WITHIN_MS + latencyMs
  for (;;) {
    const isThere = await world.comesTrue(
      untilMs - time.monotonicMs(),
      async () => (await difference(world, end)) === undefined,
    )
    if (!isThere) return `after a minute ${await difference(world, end)}`
    await world.pass(LAST_WRITES_MS)
    const writes = await moreWrites(world)
    const wrong = writes.length > 0 ? `writes without a change: ${writes.join(', ')}` : await difference(world, end)
    if (wrong === undefined) return crashes(world) ?? leaks(world) ?? misplaced(world)
    if (time.monotonicMs() >= untilMs) return wrong // An earlier match may be temporary.
  }
}

async function difference(
  world: World,
  { config, ready, mayLeaveClaim }: Scenario['end'],
): Promise<string | undefined> {
  const now = await world.config()
  if (!isDeepStrictEqual(now, config))
    return `the config is ${JSON.stringify(now)} and not ${JSON.stringify(config)}, Synced ${world.condition('Synced')}`
  const object = world.object()
  if (ready === undefined && object === undefined)
    return mayLeaveClaim === true && world.deaths > 0 ? undefined : unclaimed(world)
  if (ready === undefined) return 'the FleetWorker still exists'
  if (object === undefined) return 'the FleetWorker is deleted'
  if (object.status?.observedGeneration !== object.metadata.generation || world.condition('Ready') !== ready)
    return `the status is ${JSON.stringify(object.status)} at generation ${object.metadata.generation}`
  return undefined
}

async function unclaimed(world: World): Promise<string | undefined> {
  const claim = await world.managedBy()
  return claim === null ? undefined : `the claim is ${claim}`
}

/** Reconciles everything several times. @returns the writes. */
export async function moreWrites(world: World): Promise<readonly string[]> {
  world.faults.restart()
  for (let pass = 0; pass < MORE_PASSES; pass += 1) {
    world.life.handlers.requeueAll()
    await world.pass(PASS_MS, PASS_MS)
  }
  await world.pass(LAST_WRITES_MS)
  return world.faults.writes.map(nameOf)
}

export function crashes(world: World): string | undefined {
  const lines = world.log.lines.filter(({ level, message }) => level === 'error' && !EXPECTED.test(message))
  return lines.length === 0
    ? undefined
    : `the log has errors: ${lines.map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`).join('; ')}`
}

/** Finds a status that describes another object than the one that contains it. */
function misplaced(world: World): string | undefined {
  const statuses = world.api.server.store.history
    .filter(({ kind }) => kind === FLEETWORKERS)
    .map(({ object }) => object)
  const found = statuses.find(
    ({ metadata, status }) =>
      status?.['selector'] !== undefined && status['selector'] !== `muster.dev/uid=${metadata.uid}`,
  )
  return found === undefined
    ? undefined
    : `the status of ${String(found.status?.['selector'])} is at ${found.metadata.uid}`
}

export function leaks(world: World): string | undefined {
  const found = world
    .texts()
    .find((text) => text.includes(CANARY) || text.includes(Buffer.from(CANARY).toString('base64').slice(0, -4)))
  return found === undefined ? undefined : `a secret is visible: ${found}`
}
