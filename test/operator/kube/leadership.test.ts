import { advanceUntil, runTurns } from '../../kit/index.ts'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ALWAYS_LEADING, LeaseElector } from '../../../src/operator/kube/index.ts'
import { LEASES, type FakeKind } from '../fake-apiserver.ts'
import { transportTo, kubeFixture, type KubeFixture } from './fixture.ts'

interface Replica {
  readonly elector: LeaseElector
  readonly terms: AbortSignal[]
  readonly stop: AbortController
  readonly ended: Promise<void>
}

let w: KubeFixture
let replicas: Replica[]

beforeEach(async () => {
  w = await kubeFixture(LEASES)
  replicas = []
})
afterEach(async () => {
  for (const { stop } of replicas) stop.abort(new Error('over'))
  await Promise.race([Promise.all(replicas.map(({ ended }) => ended)), runTurns(200)])
  await w.close()
})

function replica(
  identity: string,
  time = w.time,
  transport = time === w.time ? w.transport : transportTo(w.fake, time, w.credentials),
): Replica {
  const terms: AbortSignal[] = []
  const stop = new AbortController()
  const elector = new LeaseElector({
    transport,
    clock: time,
    timers: time,
    log: w.log,
    namespace: 'here',
    name: 'muster-operator',
    identity,
    onLead: (term) => terms.push(term),
  })
  const each = { elector, terms, stop, ended: elector.run(stop.signal) }
  replicas.push(each)
  return each
}

const where = { kind: LEASES satisfies FakeKind, namespace: 'here', name: 'muster-operator' }
const lease = () => w.fake.store.get(where).spec ?? {}
const leads = ({ elector }: Replica): Promise<void> =>
  advanceUntil(w.time, 'it leads', () => elector.state === 'leading')

/** Advances time in small steps, so that the API server can respond. */
async function passes(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    await w.time.advance(Math.min(100, left))
    await runTurns(8)
  }
}

describe('the lease', () => {
  it('is created, held and renewed, with microsecond timestamps', async () => {
    const a = replica('a')
    await leads(a)
    expect(lease()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 })
    expect(lease()['renewTime']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    const before = lease()['renewTime']
    await passes(60_000)
    expect(a.elector.mayWrite()).toBe(true)
    expect(a.terms).toHaveLength(1)
    expect(lease()['renewTime']).not.toBe(before)
    expect(w.fake.seen('PUT').length).toBeLessThanOrEqual(31)
  })

  it('has one holder; a standby takes over within 3 s of a release', async () => {
    const a = replica('a')
    await leads(a)
    const b = replica('b')
    await passes(30_000)
    expect(b.elector.state).toBe('standby')
    expect(b.elector.mayWrite()).toBe(false)
    a.stop.abort(new Error('SIGTERM'))
    const stoppedMs = w.time.monotonicMs()
    await leads(b)
    expect(w.time.monotonicMs() - stoppedMs).toBeLessThan(3_000)
    expect(a.terms[0]?.aborted).toBe(true)
    expect(lease()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
  })

  it('is taken by the standby within 20 s after its holder crashed', async () => {
    const a = replica('a')
    await leads(a)
    const b = replica('b')
    await passes(4_000)
    w.fake.script({ method: 'PUT' }, { kind: 'hang' }, 1) // The next renewal is the last request of replica a.
    await advanceUntil(w.time, 'the holder hangs', () => w.fake.seen('PUT').length > 2)
    const goneMs = w.time.monotonicMs()
    a.stop.abort(new Error('SIGKILL'))
    w.fake.script({ method: 'PUT' }, { kind: 'break' }, 1) // Its release request fails too.
    await passes(20_000)
    expect(b.elector.state).toBe('leading')
    expect(w.time.monotonicMs() - goneMs).toBeLessThanOrEqual(20_100)
    expect(lease()).toMatchObject({ holderIdentity: 'b' })
  })

  it('permits writes for at most 10 s after the start of the last successful renewal', async () => {
    const a = replica('a')
    await leads(a)
    await passes(100)
    const renewedMs = w.time.monotonicMs()
    w.fake.script({}, { kind: 'refuse', status: 500 }, 1_000)
    await passes(9_000)
    expect(a.elector.mayWrite()).toBe(true)
    expect(a.elector.leadsUntilMs()).toBeLessThanOrEqual(renewedMs + 15_000)
    w.time.jump(renewedMs + 10_000 - w.time.monotonicMs()) // Before the next timer.
    expect([a.elector.state, a.elector.mayWrite()]).toEqual(['leading', false])
    await passes(600)
    expect(a.elector.state).toBe('standby')
    expect(a.terms[0]?.aborted).toBe(true)
  })

  it('counts a renewal from its start, however long its response takes', async () => {
    const a = replica('a')
    await leads(a)
    let respond = (): void => {}
    const held = new Promise<void>((resolve) => (respond = resolve))
    w.fake.script({ method: 'PUT' }, { kind: 'delay', until: held })
    w.fake.script({}, { kind: 'refuse', status: 500 }, 1_000)
    await passes(6_000) // The renewal began after 2 s.
    respond()
    await passes(4_900)
    expect(a.elector.mayWrite()).toBe(true)
    await passes(1_700)
    expect(a.elector.mayWrite()).toBe(false)
  })

  it('never has two holders: a holder stops before the next one starts, whatever their wall clocks show', async () => {
    const a = replica('a')
    await leads(a)
    const b = replica('b')
    await passes(4_000)
    for (const stepMs of [3_600_000, -7_200_000]) {
      w.time.stepWall(stepMs)
      await passes(30_000)
      expect([a.elector.state, b.elector.state]).toEqual(['leading', 'standby'])
    }
    w.fake.script({ method: 'PUT' }, { kind: 'refuse', status: 500 }, 7)
    for (let step = 0; step < 400 && b.elector.state === 'standby'; step += 1) {
      await passes(100)
      expect(a.elector.mayWrite() && b.elector.mayWrite()).toBe(false)
    }
  })

  it('has no other holder before the time that its last holder names', async () => {
    const transport = transportTo(w.fake, w.time, w.credentials)
    const a = replica('a', w.time, transport)
    await leads(a)
    const b = replica('b')
    await passes(4_000)
    transport.json = async () => {
      throw new Error('replica a has lost its network')
    }
    let untilMs = -Infinity
    for (let step = 0; step < 400 && b.elector.state === 'standby'; step += 1) {
      untilMs = Math.max(untilMs, a.elector.leadsUntilMs())
      await passes(100)
    }
    expect([b.elector.state, untilMs > 0, a.elector.leadsUntilMs()]).toEqual(['leading', true, -Infinity])
    expect(w.time.monotonicMs()).toBeGreaterThanOrEqual(untilMs)
  })

  it('prevents writes of a leader that was suspended for twice its duration (SIGSTOP)', async () => {
    const a = replica('a')
    await leads(a)
    await passes(4_000)
    const { metadata } = w.fake.store.get(where)
    w.fake.store.replace(where, '', { metadata, spec: { ...lease(), holderIdentity: 'b', leaseTransitions: 1 } }, 'b')
    w.time.jump(30_000) // Nothing of this process ran: no timer, no renewal.
    expect(a.elector.mayWrite()).toBe(false)
    const puts = w.fake.seen('PUT').length
    const confirmed = a.elector.confirm(new AbortController().signal)
    await advanceUntil(w.time, 'the API server has responded', () => a.elector.state === 'standby')
    expect(await confirmed).toBe(false)
    expect(lease()['holderIdentity']).toBe('b')
    expect(a.terms[0]?.aborted).toBe(true)
    expect(w.fake.seen('PUT').length - puts).toBeLessThanOrEqual(1)
  })

  it('must be confirmed after a stall of more than 2 s, and permits writes again after the confirmation', async () => {
    const a = replica('a')
    await leads(a)
    await passes(4_000)
    w.time.jump(4_000)
    expect(a.elector.mayWrite()).toBe(false)
    const confirmed = a.elector.confirm(new AbortController().signal)
    await advanceUntil(w.time, 'it may write again', () => a.elector.mayWrite())
    expect(await confirmed).toBe(true)
    expect(a.terms).toHaveLength(1)
  })

  it('is kept when the response to a renewal was lost', async () => {
    const a = replica('a')
    await leads(a)
    w.fake.script({ method: 'PUT' }, { kind: 'lose' })
    await passes(15_000)
    expect(a.elector.mayWrite()).toBe(true)
    expect(a.terms).toHaveLength(1)
  })

  it('is kept when one renewal hangs', async () => {
    const a = replica('a')
    await leads(a)
    w.fake.script({ method: 'PUT' }, { kind: 'hang' })
    await passes(20_000)
    expect(a.elector.mayWrite()).toBe(true)
    expect(a.terms).toHaveLength(1)
  })

  it('is given up immediately when another replica has taken it', async () => {
    const a = replica('a')
    await leads(a)
    const { metadata } = w.fake.store.get(where)
    w.fake.store.replace(where, '', { metadata, spec: { ...lease(), holderIdentity: 'thief' } }, 'thief')
    await passes(3_000)
    expect([a.elector.state, a.elector.mayWrite()]).toEqual(['standby', false])
    expect(await a.elector.confirm(new AbortController().signal)).toBe(false)
    expect(lease()['holderIdentity']).toBe('thief')
  })

  it('can be acquired again by the same process, as another term', async () => {
    const a = replica('a')
    await leads(a)
    w.fake.script({}, { kind: 'refuse', status: 500 }, 8)
    await passes(13_000)
    expect(a.terms[0]?.aborted).toBe(true)
    await passes(10_000)
    expect(a.elector.mayWrite()).toBe(true)
    expect(a.terms).toHaveLength(2)
  })

  it('is not needed with a single replica', async () => {
    expect([
      ALWAYS_LEADING.state,
      ALWAYS_LEADING.mayWrite(),
      await ALWAYS_LEADING.confirm(new AbortController().signal),
    ]).toEqual(['leading', true, true])
  })
})
