/**
 * Checks what has to hold once faults have stopped. Within a minute the worker has the config of the FleetWorker, and
 * the status shows it. After that, further reconciles write nothing. The operator logged no error, and no secret is
 * visible.
 */
import { isDeepStrictEqual } from 'node:util'
import type { OpenReason } from '../../../src/operator/fleet/index.ts'
import { FLEETWORKERS } from '../fleetworker/kinds.ts'
import type { Scenario } from './scenarios.ts'
import { nameOf } from './faults.ts'
import { CANARY, type FaultFixture } from './fixture.ts'

const WITHIN_MS = 60_000
const MORE_PASSES = 50
const PASS_MS = 50
/** Status writes are batched and events are rate-limited. */
const LAST_WRITES_MS = 3_000
/** Values of the log field `reason` on errors that the operator may log because of the faults that a test injects. */
const EXPECTED_REASONS: ReadonlySet<unknown> = new Set<OpenReason>(['MasterUnreachable', 'Unauthorized'])

export interface Wanted extends Pick<Scenario, 'end'> {
  /** How much longer than a minute the operator may take. */
  readonly latencyMs?: number
}

/** Returns what is wrong at the end; `undefined`: nothing. */
export async function verdict(fixture: FaultFixture, { end, latencyMs = 0 }: Wanted): Promise<string | undefined> {
  const { time } = fixture
  const untilMs = time.monotonicMs() + WITHIN_MS + latencyMs
  for (;;) {
    const isThere = await fixture.comesTrue(
      untilMs - time.monotonicMs(),
      async () => (await difference(fixture, end)) === undefined,
    )
    if (!isThere) return `after a minute ${await difference(fixture, end)}`
    await fixture.pass(LAST_WRITES_MS)
    const writes = await moreWrites(fixture)
    const wrong = writes.length > 0 ? `writes without a change: ${writes.join(', ')}` : await difference(fixture, end)
    if (wrong === undefined) return crashes(fixture) ?? leaks(fixture) ?? misplaced(fixture)
    if (time.monotonicMs() >= untilMs) return wrong // An earlier match may be temporary.
  }
}

async function difference(
  fixture: FaultFixture,
  { config, ready, mayLeaveClaim }: Scenario['end'],
): Promise<string | undefined> {
  const now = await fixture.config()
  if (!isDeepStrictEqual(now, config))
    return (
      `the config is ${JSON.stringify(now)} and not ${JSON.stringify(config)}, ` +
      `Synced ${fixture.condition('Synced')}`
    )
  const object = fixture.object()
  if (ready === undefined && object === undefined)
    return mayLeaveClaim === true && fixture.deaths > 0 ? undefined : unclaimed(fixture)
  if (ready === undefined) return 'the FleetWorker still exists'
  if (object === undefined) return 'the FleetWorker is deleted'
  if (object.status?.observedGeneration !== object.metadata.generation || fixture.condition('Ready') !== ready)
    return `the status is ${JSON.stringify(object.status)} at generation ${object.metadata.generation}`
  return undefined
}

async function unclaimed(fixture: FaultFixture): Promise<string | undefined> {
  const claim = await fixture.managedBy()
  return claim === null ? undefined : `the claim is ${claim}`
}

/** Reconciles everything several times. @returns the writes. */
export async function moreWrites(fixture: FaultFixture): Promise<readonly string[]> {
  fixture.faults.restart()
  for (let pass = 0; pass < MORE_PASSES; pass += 1) {
    fixture.life.handlers.requeueAll()
    await fixture.pass(PASS_MS, PASS_MS)
  }
  await fixture.pass(LAST_WRITES_MS)
  return fixture.faults.writes.map(nameOf)
}

/** Whether the breaker has opened, or the master has refused a request (`refused`). */
const isExpected = (fields: { readonly reason?: unknown; readonly refused?: unknown }): boolean =>
  EXPECTED_REASONS.has(fields.reason) || fields.refused !== undefined

export function crashes(fixture: FaultFixture): string | undefined {
  const lines = fixture.log.lines.filter(({ level, fields }) => level === 'error' && !isExpected({ ...fields }))
  return lines.length === 0
    ? undefined
    : `the log has errors: ${lines.map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`).join('; ')}`
}

/** Finds a status that describes another object than the one that contains it. */
function misplaced(fixture: FaultFixture): string | undefined {
  const statuses = fixture.api.server.store.history
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

export function leaks(fixture: FaultFixture): string | undefined {
  const found = fixture
    .texts()
    .find((text) => text.includes(CANARY) || text.includes(Buffer.from(CANARY).toString('base64').slice(0, -4)))
  return found === undefined ? undefined : `a secret is visible: ${found}`
}
