import { describe, expect, it } from '@jest/globals'
import { register } from '../../client/fixture.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { TOKENS } from '../../kit/running-master.ts'
import { fleetOf, masterOn, pathOf, registered, type FleetFixtureOptions } from './fixture.ts'

const W1 = { type: 'mailer', workerId: 'w1' }
const FEED = /^GET \/api\/v1\/events/

async function fixture(options: FleetFixtureOptions = {}) {
  const time = new VirtualTime()
  const master = await masterOn(time)
  await register(master, 'w1')
  return { ...(await fleetOf(master.url, { time, ...options })), master }
}
const answer = (status: number, detail: string, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', 'muster-epoch': 'e', ...headers },
  body: JSON.stringify({ detail }),
})

describe('a master that is unavailable', () => {
  it('gets only probes and feed connections, and is detected when it is available again', async () => {
    const { fleet, proxy, turns, until, pass, asked, ended, signal, metric, master } = await fixture()
    proxy.rule = () => 'reset before'
    proxy.cut()
    await until('the breaker is open', () => turns.length === 1)
    expect([
      turns,
      await metric(/^svc_operator_breaker_state\{state="MasterUnreachable"\}/),
      await metric(/^svc_operator_breaker_state\{state="closed"\}/),
    ]).toEqual([['MasterUnreachable'], 1, 0])
    const before = proxy.seen.length
    expect(await ended(fleet.master.get(W1, signal))).toEqual({
      kind: 'unavailable',
      effect: 'not_sent',
      message: 'the master is unavailable',
    })
    await pass(60_000)
    const probes = proxy.seen.slice(before)
    expect(probes.every(({ path }) => path === '/readyz' || path === '/api/v1/events?batched=true')).toBe(true)
    expect(probes.length).toBeLessThan(20)
    expect(probes.filter(({ path }) => path === '/readyz').length).toBeGreaterThanOrEqual(4)
    expect(fleet.unavailableMs).toBeGreaterThan(60_000)
    await master.call('PATCH', pathOf('w1', '/config'), { body: { slots: 7 } })
    proxy.rule = () => 'pass'
    await until(
      'it is detected',
      () => turns.length === 2 && registered(fleet.get('mailer', 'w1')).record.config['slots'] === 7,
    )
    expect([turns[1], fleet.unavailableMs, await metric(/^svc_operator_breaker_state\{state="closed"\}/)]).toEqual([
      null,
      0,
      1,
    ])
    expect(asked(FEED).at(-1)?.headers['last-event-id']).toMatch(/./)
  })

  it('gets no writes while another service responds at its address', async () => {
    const { fleet, proxy, turns, until, asked, ended, signal } = await fixture()
    const { epoch } = registered(fleet.get('mailer', 'w1'))
    proxy.rule = () => ({ status: 200, headers: { 'content-type': 'application/json' }, body: '[]' })
    const patch = () => ended(fleet.master.patch(W1, { slots: 2 }, { epoch, configGen: 0 }, 'us', signal))
    expect(await patch()).toMatchObject({
      kind: 'unavailable',
      effect: 'unknown',
      message: expect.stringContaining('did not come from a Muster master'),
    })
    await until('the breaker is open', () => turns.includes('MasterUnreachable'))
    const sent = asked(/PATCH/).length
    expect(await patch()).toMatchObject({ kind: 'unavailable', effect: 'not_sent' })
    expect(asked(/PATCH/)).toHaveLength(sent)
    expect(fleet.get('mailer', 'w1').kind).toBe('registered') // An empty list of another service removes no worker.
  })

  it('is waited for at the start, and listed once it is available', async () => {
    const { fleet, proxy, turns, until, pass } = await fixture({
      isIdle: true,
      script: Array.from({ length: 4 }, () => 'reset before' as const),
    })
    proxy.rule = () => 'reset before'
    await until('the breaker is open', () => turns.length === 1)
    await pass(5_000)
    expect([fleet.get('mailer', 'w1').kind, fleet.isSynced]).toEqual(['pending', false])
    proxy.rule = () => 'pass'
    await until('it is listed', () => fleet.isSynced)
    expect(fleet.get('mailer', 'w1').kind).toBe('registered')
  })
})

describe('a master that rejects calls because of load', () => {
  it('gets no calls until its Retry-After has passed, and a list continues where it stopped', async () => {
    const { fleet, proxy, ended, signal, time, turns, metric } = await fixture()
    proxy.script.push(answer(429, 'slow down', { 'retry-after': '4' }))
    expect(await ended(fleet.master.get(W1, signal))).toEqual({
      kind: 'throttled',
      effect: 'not_sent',
      retryAfterMs: 4_000,
    })
    const thenMs = time.monotonicMs()
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'ok' })
    expect(time.monotonicMs() - thenMs).toBeGreaterThanOrEqual(3_990)
    proxy.script.push(answer(503, 'no store', { 'retry-after': '1' }))
    expect(await ended(fleet.master.drain(W1, 'us', signal))).toMatchObject({ kind: 'throttled', effect: 'unknown' })
    expect([
      turns,
      await metric(/^svc_operator_master_request_seconds_count\{method="GET",code="429"\}/),
      await metric(/^svc_operator_master_request_seconds_count\{method="POST",code="503"\}/),
    ]).toEqual([[], 1, 1])
  })
})

describe('the token', () => {
  const isMine =
    (token: string) =>
    ({ headers }: { headers: { authorization?: string | undefined } }) =>
      headers.authorization === `Bearer ${token}`

  it('falls back to the previous one if its file is newer than the master, and each new token is tried', async () => {
    const { fleet, token, turns, asked, ended, signal, pass } = await fixture()
    for (const ahead of ['the next', 'the one after']) {
      token.current = ahead
      expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'ok' })
      await pass(1_000)
      expect(asked(/\/me$/).filter(isMine(ahead))).toHaveLength(1)
    }
    expect([turns, asked(/\/me$/).filter(isMine(TOKENS.admin)).length]).toEqual([[], 3])
  })

  it('that the master rejects stops all calls until its file changes', async () => {
    const { fleet, token, turns, until, asked, ended, signal, pass } = await fixture({
      isIdle: true,
      firstToken: 'a wrong one',
    })
    await until('the breaker is open', () => turns.length === 1)
    expect(turns).toEqual(['Unauthorized'])
    expect(await ended(fleet.master.history(W1, 1, signal))).toMatchObject({ kind: 'unavailable', effect: 'not_sent' })
    const before = asked(/\/me$/).length
    await pass(30_000)
    expect([before, asked(/\/me$/).length]).toEqual([1, 1])
    token.current = TOKENS.admin
    await until('it is closed, and everything is listed', () => turns.length === 2 && fleet.isSynced)
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'ok' })
  })

  it('that was valid all along is sent again after a minute', async () => {
    const { turns, until, proxy, asked, pass } = await fixture()
    proxy.rule = ({ url }) => (url === '/readyz' ? 'pass' : answer(403, 'this token does not have access to this path'))
    proxy.cut()
    await until('the breaker is open', () => turns.includes('Unauthorized'))
    const before = asked(/\/me$/).length
    await pass(100_000)
    expect(asked(/\/me$/).length - before).toBeGreaterThanOrEqual(1)
    expect(asked(/\/me$/).length - before).toBeLessThanOrEqual(2)
    proxy.rule = () => 'pass'
    await until('it is closed', () => turns.at(-1) === null)
  })

  it('that is valid but does not cover a call makes that type forbidden, with one GET /me in 10 s', async () => {
    const { fleet, turns, proxy, asked, ended, signal, pass } = await fixture({ firstToken: TOKENS.mailer })
    await pass(11_000)
    const before = asked(/\/me$/).length
    proxy.rule = ({ url = '' }) =>
      /workers\/w1/.test(url) ? answer(403, 'this token does not have access to this path') : 'pass'
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'forbidden' })
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'throttled', effect: 'not_sent' })
    await pass(10_000)
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'forbidden' })
    expect([asked(/\/me$/).length - before, turns]).toEqual([2, []])
  })

  it('of an admin is rejected by one of two masters during a rotation: the call is repeated after 10 s', async () => {
    const { fleet, turns, proxy, ended, signal, pass } = await fixture()
    await pass(11_000)
    proxy.rule = ({ url = '' }) =>
      /workers\/w1/.test(url) ? answer(403, 'this token does not have access to this path') : 'pass'
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'throttled', retryAfterMs: 10_000 })
    proxy.rule = () => 'pass'
    await pass(10_000)
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'ok' })
    expect(turns).toEqual([])
  })
})
