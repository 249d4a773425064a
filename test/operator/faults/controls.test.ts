/**
 * Shows that the fault policies detect errors: an operator without one of its safeguards fails, the real operator does
 * not.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WorkQueue, type ObjectKey } from '../../../src/operator/kube/index.ts'
import { VirtualTime, type Clock } from '../../../src/runtime/index.ts'
import { FakeApiServer, PROBES } from '../fake-apiserver.ts'
import { PROBE, random, transportTo } from '../kube/fixture.ts'
import {
  withoutIfMatch,
  withoutMayWrite,
  withoutProofOfFreshness,
  withoutReadingAgain,
  withoutRelist,
  withoutVersionInStatus,
  withoutWriteAhead,
} from './controls.ts'
import type { Variants } from './life.ts'
import { interrupted, record, run, stale, type Policy } from './policies.ts'
import { INTERRUPTED, FIRST, type Scenario } from './scenarios.ts'
import { startMasters, FaultFixture, type Masters } from './fixture.ts'
import { runTurns } from '../../kit/index.ts'

const TIMEOUT_MS = 120_000

let masters: Masters
beforeAll(async () => {
  masters = await startMasters()
})
afterAll(() => masters.stop())

type Control = Variants | ((fixture: FaultFixture) => Variants)

/** @returns the first violation at the points of a policy; `undefined`: none. */
async function found(scenario: Scenario | undefined, policy: Policy, control: Control): Promise<string | undefined> {
  if (scenario === undefined) throw new Error('there is no such scenario')
  const recording = await record(masters, scenario)
  for (const point of policy(recording, scenario)) {
    const wrong = await run(masters, scenario, point, control)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

const [EDIT_TWICE, SECRET_TAKEN_BACK, RECREATE] = INTERRUPTED

describe('the fault policies detect an operator without', () => {
  it(
    'If-Match: a delayed PATCH restores an older spec',
    async () => {
      expect(await found(EDIT_TWICE, interrupted, withoutIfMatch)).toMatch(/an older spec was applied again/)
    },
    TIMEOUT_MS,
  )

  it(
    'the read before a PATCH: a stale cache restores an older spec',
    async () => {
      expect(
        await found(
          FIRST.find(({ name }) => name === 'edit'),
          stale,
          withoutReadingAgain,
        ),
      ).toMatch(/an older spec was applied again/)
    },
    TIMEOUT_MS,
  )

  it(
    'a proof that its cache is fresh: a stale cache restores an older spec',
    async () => {
      expect(
        await found(
          FIRST.find(({ name }) => name === 'edit'),
          stale,
          withoutProofOfFreshness,
        ),
      ).toMatch(/an older spec was applied again/)
    },
    TIMEOUT_MS,
  )

  it(
    'write-ahead: a secret stays in the config that no FleetWorker takes back',
    async () => {
      expect(await found(SECRET_TAKEN_BACK, interrupted, withoutWriteAhead)).toMatch(/the config is .*api_key/)
    },
    TIMEOUT_MS,
  )

  it(
    'the version in status writes: a status is written to another object of the same name',
    async () => {
      // The operator then trusts the claim in that status.
      expect(await found(RECREATE, interrupted, withoutVersionInStatus)).toMatch(/the status of|the config is/)
    },
    TIMEOUT_MS,
  )
})

describe('an expired watch', () => {
  /** Whether the operator notices an edit whose event the API server no longer has. */
  async function seesEdit(variants: Variants): Promise<boolean> {
    const fixture = new FaultFixture(masters)
    fixture.variants = variants
    await fixture.work()
    await fixture.start()
    fixture.create({ config: { url: 'http://one' } })
    await fixture.pass(5_000)
    fixture.create({ workerID: 'another' }, 'another') // Its newest version stays, so the watch would resume.
    await fixture.pass(5_000)
    fixture.api.endWatches('broken')
    fixture.edit({ config: { url: 'http://two' } })
    fixture.edit({ config: { url: 'http://three' } })
    fixture.api.server.store.compact()
    const seen = await fixture.comesTrue(60_000, async () => (await fixture.config())?.['url'] === 'http://three')
    await fixture.close()
    return seen
  }

  it('is replaced by a new list (410)', async () => {
    expect(await seesEdit({})).toBe(true)
  })

  it('is missed by an operator that treats it as any other fault', async () => {
    expect(await seesEdit(withoutRelist)).toBe(false)
  })
})

describe('a leader that was suspended for longer than its lease', () => {
  /** Number of writes that it sends after another replica became leader. */
  async function lateWrites(variants: Variants): Promise<number> {
    const fixture = new FaultFixture(masters)
    fixture.variants = { ...variants, progress: () => ({ asOfMs: -Infinity, wrote: () => {} }) }
    await fixture.work()
    const own = new VirtualTime(fixture.time.wallMs())
    const sleeper = await fixture.start('sleeper', own)
    const both = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 100) {
        await own.advance(100)
        await fixture.pass(100)
      }
    }
    await both(3_000)
    fixture.create({ config: { url: 'http://one' } })
    await both(3_000)
    let wakes = (): void => {}
    const asleep = new Promise<void>((resolve) => (wakes = resolve))
    let isAsleep = false
    fixture.faults.rule = ({ side, method, path }) => {
      if (isAsleep || side !== 'api' || method !== 'GET' || !path.endsWith(`/fleetworkers/${fixture.id}`))
        return { kind: 'pass' }
      isAsleep = true // In the middle of a reconcile, right before its PATCH.
      return { kind: 'held', until: asleep }
    }
    fixture.edit({ config: { url: 'http://two' } })
    expect(await fixture.comesTrue(5_000, () => isAsleep)).toBe(true)
    const other = await fixture.start('other')
    expect(
      await fixture.comesTrue(30_000, async () => other.leads && (await fixture.config())?.['url'] === 'http://two'),
    ).toBe(true)
    await fixture.pass(3_000)
    fixture.faults.restart()
    own.jump(fixture.time.monotonicMs())
    wakes()
    await fixture.pass(500)
    const { length } = fixture.faults.writes.filter(({ path }) => path.includes(fixture.id))
    expect(sleeper.cache.size).toBe(1)
    await fixture.close()
    return length
  }

  it(
    'sends no more writes (mayWrite)',
    async () => {
      expect(await lateWrites({})).toBe(0)
    },
    TIMEOUT_MS,
  )

  it(
    'would write without the check of the lease',
    async () => {
      expect(await lateWrites(withoutMayWrite)).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )
})

describe('a half-open watch', () => {
  const IDLE_MS = 90_000

  /** Whether it is closed after two minutes of silence. */
  async function isGivenUp(isWatched: boolean): Promise<boolean> {
    const time = new VirtualTime()
    const fake = await new FakeApiServer([PROBES], time.wallMs).start()
    const after: VirtualTime['after'] = (ms, task) => (ms === IDLE_MS && !isWatched ? () => {} : time.after(ms, task))
    const transport = transportTo(fake, Object.assign(Object.create(time) as VirtualTime, { after }), {
      current: { authorization: 'Bearer first', tls: {} },
      asked: 0,
    })
    const abort = new AbortController()
    let reason = ''
    const watching = (async () => {
      for await (const _ of transport.lines(
        { method: 'GET', path: `/apis/${PROBE.group}/${PROBE.version}/${PROBE.plural}`, query: { watch: true } },
        abort.signal,
      )) {
        /** No event arrives. */
      }
    })().catch((error: { reason?: string }) => (reason = error.reason ?? ''))
    while (fake.watchCount === 0) await runTurns(1)
    fake.silenceWatches()
    await runTurns()
    await time.advance(120_000)
    await runTurns()
    abort.abort(new Error('over'))
    await watching
    await transport.close()
    await fake.close()
    return reason === 'Idle'
  }

  it('is closed (idle watchdog)', async () => {
    expect(await isGivenUp(true)).toBe(true)
  })

  it('would stay open without the watchdog', async () => {
    expect(await isGivenUp(false)).toBe(false)
  })
})

describe('the key with the lowest priority under a stream of edits', () => {
  /** How long the key waits, at most ten minutes; edits arrive faster than they are processed. */
  async function waitsMs(aging: (clock: Clock) => Clock): Promise<number> {
    const time = new VirtualTime()
    const queue = new WorkQueue({ clock: aging(time), timers: time, random: random() })
    queue.add('ns/swept', -100)
    const { signal } = new AbortController()
    for (let second = 0; second < 600; second += 1) {
      queue.add(`ns/edited-${second}-a` satisfies ObjectKey, 100)
      queue.add(`ns/edited-${second}-b` satisfies ObjectKey, 100)
      const key = await queue.take(signal)
      if (key === 'ns/swept') return second * 1_000
      queue.done(key, { kind: 'ok' })
      time.jump(1_000)
    }
    return Infinity
  }

  it('is processed (aging)', async () => {
    expect(await waitsMs((clock) => clock)).toBeLessThanOrEqual(402_000)
  })

  it('would never be processed without aging', async () => {
    expect(await waitsMs((clock) => ({ wallMs: () => clock.wallMs(), monotonicMs: () => 0 }))).toBe(Infinity)
  })
})
