import { describe, expect, it } from '@jest/globals'
import type { ServerResponse } from 'node:http'
import { register } from '../../client/fixture.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { TOKENS } from '../../kit/running-master.ts'
import { fleetOf, masterOn, pathOf, registered, type FleetFixtureOptions } from './fixture.ts'

const W1 = { type: 'mailer', workerId: 'w1' }
const US = 'kubernetes:shop/w1#0f8fad5b'

async function fixture(options: FleetFixtureOptions = {}) {
  const time = new VirtualTime()
  const master = await masterOn(time)
  await register(master, 'w1')
  const w = await fleetOf(master.url, { time, ...options })
  w.changes.splice(0)
  const now = () => registered(w.fleet.get('mailer', 'w1'))
  const patch = (config: object, configGen = now().record.config_gen, worker = W1) =>
    w.ended(
      w.fleet.master.patch(worker, config as Record<string, never>, { epoch: now().epoch, configGen }, US, w.signal),
    )
  return { ...w, master, now, patch }
}

describe('a PATCH', () => {
  it('sends If-Match and the actor, and its response updates the table without a read or a notification', async () => {
    const { patch, now, asked, changes, pass } = await fixture()
    const { epoch } = now()
    expect(await patch({ slots: 3 })).toMatchObject({
      kind: 'ok',
      epoch,
      value: { config_gen: 1, config: { slots: 3 } },
    })
    expect(now()).toMatchObject({ isStale: false, record: { config_gen: 1, config: { slots: 3 } } })
    await pass(2_000)
    expect([asked(/PATCH/).map(({ headers }) => [headers['if-match'], headers['muster-actor']]), changes]).toEqual([
      [[`"${epoch}.0"`, US]],
      [],
    ])
    expect(asked(/^GET .*workers\/w1$/)).toEqual([])
    expect(now().record.config_changed_by).toBe(`admin ${US}`)
  })

  it('says until when this replica leads, and the master refuses it afterwards', async () => {
    const leadsUntil = { ms: 0 }
    const { patch, now, asked, time } = await fixture({ leadsUntilMs: () => leadsUntil.ms })
    // The Date header has the machine's time, and this master's clock is the virtual one.
    const aheadMs = time.wallMs() - Date.now()
    leadsUntil.ms = time.monotonicMs() + aheadMs + 60_000
    expect(await patch({ slots: 3 })).toMatchObject({ kind: 'ok' })
    leadsUntil.ms = time.monotonicMs() + aheadMs - 60_000
    expect(await patch({ slots: 4 })).toEqual({ kind: 'stale' })
    expect(now().record.config['slots']).toBe(3)
    const [sent] = asked(/PATCH/).map(({ headers }) => Number(headers['muster-not-after']) * 1_000)
    expect(Math.abs((sent ?? 0) - time.wallMs() - 58_000)).toBeLessThan(5_000)
    leadsUntil.ms = Infinity
    await patch({ slots: 5 })
    expect(asked(/PATCH/).at(-1)?.headers['muster-not-after']).toBeUndefined()
  })

  it('that was overtaken is stale, and the entry is read again', async () => {
    const { patch, now, until, master } = await fixture()
    await master.call('PATCH', pathOf('w1', '/config'), { body: { slots: 9 } })
    expect(await patch({ slots: 3 }, 0)).toEqual({ kind: 'stale' })
    await until('it is read', () => !now().isStale && now().record.config['slots'] === 9)
  })

  it('returns a rejection as data: faults, unknown worker or type, size, permissions, a bug', async () => {
    const { patch, fleet, until } = await fixture({ types: ['mailer', 'nonsense'] })
    expect(await patch({ slots: 'many' })).toMatchObject({
      kind: 'rejected',
      faults: [{ path: '/slots', keyword: 'type' }],
      message: expect.stringContaining('/slots'),
    })
    expect(await patch({ slots: 1 }, 0, { type: 'mailer', workerId: 'unknown-worker' })).toEqual({
      kind: 'not_registered',
    })
    expect(await patch({ slots: 1 }, 0, { type: 'nonsense', workerId: 'w1' })).toEqual({ kind: 'unknown_type' })
    expect(await patch({ host: 'x'.repeat(200_000) })).toMatchObject({ kind: 'too_large' })
    expect(await patch([] as object)).toMatchObject({ kind: 'bug' })
    await until('everything is as before', () => fleet.get('mailer', 'w1').kind === 'registered')
  })

  it('without permission for the type costs no call', async () => {
    const { patch, asked, fleet, ended, signal } = await fixture({
      firstToken: TOKENS.mailer,
      types: ['mailer', 'probe'],
    })
    expect(await patch({ slots: 1 }, 0, { type: 'probe', workerId: 'w1' })).toMatchObject({ kind: 'forbidden' })
    expect(await ended(fleet.master.get({ type: 'probe', workerId: 'w1' }, signal))).toMatchObject({
      kind: 'forbidden',
    })
    expect(asked(/probe/)).toEqual([])
  })

  it('whose response is lost is unknown, is not sent twice, and the entry is read', async () => {
    const { patch, proxy, now, until, asked } = await fixture()
    proxy.script.push('reset after')
    expect(await patch({ slots: 3 })).toMatchObject({ kind: 'unavailable', effect: 'unknown' })
    expect(now().isStale).toBe(true)
    await until('it is read', () => !now().isStale)
    expect([now().record.config['slots'], asked(/PATCH/).length]).toEqual([3, 1])
    proxy.script.push('reset before') // It may have taken effect, and no event says so.
    expect(await patch({ slots: 4 })).toMatchObject({ kind: 'unavailable', effect: 'unknown' })
    expect(now().isStale).toBe(true)
  })

  it('is not sent once another replica is the leader, even if it had to wait', async () => {
    const { patch, leads, asked, fleet, ended, signal } = await fixture({ script: [] })
    leads.current = false
    expect(await patch({ slots: 3 })).toEqual({ kind: 'not_leading' })
    expect(await ended(fleet.master.get(W1, signal))).toMatchObject({ kind: 'ok' })
    expect(asked(/PATCH/)).toEqual([])
  })

  it('is aborted with its signal', async () => {
    const { fleet, proxy, now } = await fixture()
    proxy.script.push('hang')
    const end = new AbortController()
    const call = fleet.master.patch(W1, {}, { epoch: now().epoch, configGen: 0 }, US, end.signal)
    end.abort(new Error('the lease is lost'))
    await expect(call).rejects.toThrow('the lease is lost')
  })
})

describe('a claim', () => {
  it('is set, visible and released, and only other clients are notified by the feed', async () => {
    const { fleet, ended, signal, now, changes, pass, master } = await fixture()
    expect(await ended(fleet.master.claim(W1, US, signal))).toMatchObject({
      kind: 'ok',
      value: { kind: 'registered', record: { managed_by: US } },
    })
    expect([now().record.managed_by, now().record.config_gen]).toEqual([US, 0])
    await pass(1_000)
    expect(await ended(fleet.master.release(W1, US, signal))).toMatchObject({
      kind: 'ok',
      value: { record: { managed_by: null } },
    })
    expect(now().record.managed_by).toBeNull()
    expect(((await master.call('GET', pathOf('w1'))).json as { managed_by: unknown }).managed_by).toBeNull()
    await pass(1_000)
    expect(changes).toEqual([])
    expect(await ended(fleet.master.claim({ type: 'mailer', workerId: 'unknown-worker' }, US, signal))).toEqual({
      kind: 'not_registered',
    })
  })

  it('whose connection broke is sent once more', async () => {
    const { fleet, ended, signal, proxy, asked } = await fixture()
    proxy.script.push('reset after')
    expect(await ended(fleet.master.claim(W1, US, signal))).toMatchObject({ kind: 'ok' })
    proxy.script.push('reset before', 'reset before')
    expect(await ended(fleet.master.release(W1, US, signal))).toMatchObject({ kind: 'unavailable', effect: 'unknown' })
    expect(asked(/claim/)).toHaveLength(4)
  })
})

describe('the other calls', () => {
  it('read one worker and its history', async () => {
    const { fleet, ended, signal, patch, now, changes, master } = await fixture()
    await patch({ slots: 3 })
    await master.call('PATCH', pathOf('w1', '/config'), { body: { slots: 5 } })
    const got = await ended(fleet.master.get(W1, signal))
    expect(got).toMatchObject({
      kind: 'ok',
      value: {
        kind: 'registered',
        isStale: false,
        epoch: now().epoch,
        record: { config: { slots: 5 }, config_gen: 2 },
      },
    })
    expect(now().record.config_gen).toBe(2)
    expect(await ended(fleet.master.history(W1, 50, signal))).toMatchObject({
      kind: 'ok',
      value: [
        { config_gen: 2, changed: ['slots'] },
        { config_gen: 1, actor: `admin ${US}` },
      ],
    })
    expect(await ended(fleet.master.get({ type: 'mailer', workerId: 'unknown-worker' }, signal))).toEqual({
      kind: 'not_registered',
    })
    expect(await ended(fleet.master.get({ type: 'unread', workerId: 'w' }, signal))).toMatchObject({
      kind: 'unavailable',
      effect: 'not_sent',
    })
    expect(changes.length).toBeLessThanOrEqual(1)
  })

  it('drain and forget a worker', async () => {
    const { fleet, ended, signal, now, changes, until, asked } = await fixture()
    expect(await ended(fleet.master.drain(W1, US, signal))).toMatchObject({ kind: 'ok' })
    expect(now().record.draining).toBe(true)
    await until('the state event has arrived', () => now().record.state === 'DRAINING')
    expect(await ended(fleet.master.forget(W1, US, signal))).toMatchObject({ kind: 'ok' })
    expect(fleet.get('mailer', 'w1').kind).toBe('unregistered')
    expect(await ended(fleet.master.forget(W1, US, signal))).toEqual({ kind: 'not_registered' })
    expect(asked(/^(?:POST|DELETE)/).every(({ headers }) => headers['muster-actor'] === US)).toBe(true)
    expect(changes.length).toBeLessThanOrEqual(2)
  })

  it('do not let a page that was requested before a PATCH undo it', async () => {
    const { patch, proxy, now, until, master, asked } = await fixture()
    const before = JSON.stringify([(await master.call('GET', pathOf('w1'))).json])
    const pages: ServerResponse[] = []
    proxy.rule = ({ url = '' }) => {
      if (url.includes('workers?')) return (response) => void pages.push(response)
      return url.startsWith('/api/v1/events') ? 'reset before' : 'pass'
    }
    proxy.cut()
    await until('a page is requested', () => pages.length > 0)
    const { epoch } = now()
    expect(await patch({ slots: 3 })).toMatchObject({ kind: 'ok' })
    const lists = asked(/workers\?/).length
    pages[0]?.writeHead(200, { 'content-type': 'application/json', 'muster-epoch': epoch }).end(before)
    await until('the list is complete', () => asked(/workers\?/).length > lists)
    expect(now().record).toMatchObject({ config_gen: 1, config: { slots: 3 } })
  })
})
