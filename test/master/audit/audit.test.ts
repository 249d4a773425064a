/** The audit trail of a running master over HTTP and WebSockets: one line per change and for refused tokens (D87). */
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { auditTo } from '../../../src/cmd/audit-sink.ts'
import type { AuditClass } from '../../../src/master/index.ts'
import { FleetError } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { rolloutReport } from '../../kit/rollout-report.ts'
import { head, runMaster, sendRaw, startTestMaster, TOKENS } from '../../kit/running-master.ts'

interface AuditLine {
  readonly action: string
  readonly object: string | null
  readonly outcome: string
  readonly status: number
  readonly count: number
  readonly [name: string]: unknown
}

const HARDWARE = JSON.stringify({ cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' })
const MAILER = '/api/v1/automations/mailer'
const W1 = `${MAILER}/workers/w1`

function recorder(classes: readonly AuditClass[] = ['control', 'auth']) {
  const texts: string[] = []
  const write = (line: string): boolean => texts.push(line) > 0
  return {
    audit: { classes: new Set(classes), write },
    texts,
    entries: (): AuditLine[] => texts.map((text) => JSON.parse(text) as AuditLine),
  }
}

async function audited(classes?: readonly AuditClass[]) {
  const trail = recorder(classes)
  const master = await startTestMaster({ audit: trail.audit })
  await master.backend.workers.register([
    { type: 'mailer', id: 'w1', conn: 'm/1', instance: '', hardware: HARDWARE, defaults: '{}' },
  ])
  return { ...trail, master }
}

describe('an audited change', () => {
  it('writes one line with request, token, actor, peer, route, outcome and count', async () => {
    const { master, entries } = await audited()
    const { headers } = await master.call('PATCH', `${W1}/config`, {
      token: TOKENS.editor,
      body: { slots: 2, host: 'h' },
      headers: { 'muster-actor': 'ana' },
    })
    await master.stop()
    expect(entries()).toEqual([
      {
        audit: 1,
        ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        actor: { name: 'editor', kind: 'token', roles: ['scoped'] },
        claimed_actor: 'ana',
        action: 'config.change',
        route: 'PATCH /api/v1/automations/{type}/workers/{id}/config',
        type: 'mailer',
        object: 'w1',
        outcome: 'done',
        status: 200,
        count: 1,
        changed: ['host', 'slots'],
        request_id: headers.get('muster-request-id'),
        peer: '127.0.0.1',
      },
    ])
  })

  it('of an operation names the note of its creator', async () => {
    const { master, entries } = await audited()
    const body = { kind: 'patch', workers: ['w1'], patch: { slots: 2 }, note: 'bad disk' }
    expect((await master.call('POST', `${MAILER}/operations`, { body })).status).toBe(200)
    await master.stop()
    expect(entries()).toMatchObject([{ action: 'operation.create', count: 1, changed: ['slots'], note: 'bad disk' }])
  })

  it('of each kind writes a line with its own action and the number of changed objects', async () => {
    const { master, entries } = await audited(['control', 'auth', 'data'])
    const tasks = { tasks: [{ payload: { to: 'a' } }, { payload: { to: 'b' } }, { payload: {} }] }
    const calls: readonly [string, string, object?][] = [
      ['PUT', `${W1}/claim`, { managed_by: 'x' }],
      ['DELETE', `${W1}/claim`],
      ['PUT', `${MAILER}/revisions/r1`, { config: {} }],
      ['POST', `${MAILER}/configs`, { revision: 'r1', workers: [{ worker_id: 'w1' }, { worker_id: 'w9' }] }],
      ['PUT', `${MAILER}/enrolments/e1`, { id_patterns: ['*'], revision: 'r1' }],
      ['PUT', `${MAILER}/enrolments/e1`, { id_patterns: ['*'], revision: 'r1' }],
      ['DELETE', `${MAILER}/enrolments/e1`],
      ['PUT', `${MAILER}/acknowledgements/error`, { count: 1 }],
      ['DELETE', `${MAILER}/acknowledgements/error`],
      ['PUT', `${MAILER}/rollouts/s1`, rolloutReport()],
      ['PUT', `${MAILER}/rollouts/s1`, rolloutReport()],
      ['DELETE', `${MAILER}/rollouts/s1`],
      ['POST', `${W1}/drain`],
      ['POST', `${MAILER}/tasks`, { payload: { to: 'a' } }],
      ['POST', `${MAILER}/tasks/batch`, tasks],
      ['POST', `${MAILER}/dead/replay`, { n: 5 }],
      ['POST', `${MAILER}/dead/select`, { action: 'remove', task_ids: ['t'] }],
      ['DELETE', `${MAILER}/dead`],
      ['POST', `${MAILER}/tasks`, { payload: { to: 'a' }, task_id: 't' }],
      ['DELETE', `${MAILER}/tasks/t`],
      ['POST', `${MAILER}/tasks/select`, { action: 'cancel', task_ids: ['t'] }],
      ['POST', `${MAILER}/output/pop`],
      ['POST', '/api/v1/pools/accounts/claims/release', { id: 'a', token: 1 }],
      ['DELETE', W1],
    ]
    for (const [method, path, body] of calls)
      expect([path, (await master.call(method, path, { body })).status]).toEqual([path, 200])
    await master.stop()
    expect(entries().map(({ action, object, outcome, count }) => [action, object, outcome, count])).toEqual([
      ['worker.claim', 'w1', 'done', 1],
      ['worker.unclaim', 'w1', 'done', 1],
      ['revision.put', 'r1', 'done', 1],
      ['config.apply', null, 'done', 1],
      ['enrolment.put', 'e1', 'done', 1],
      ['enrolment.put', 'e1', 'done', 0],
      ['enrolment.delete', 'e1', 'done', 1],
      ['attention.acknowledge', 'error', 'done', 1],
      ['attention.restore', 'error', 'done', 1],
      ['rollout.put', 's1', 'done', 1],
      ['rollout.put', 's1', 'done', 0],
      ['rollout.delete', 's1', 'done', 1],
      ['worker.drain', 'w1', 'done', 1],
      ['task.submit', null, 'done', 1],
      ['task.submit', null, 'done', 2],
      ['dead.replay', null, 'done', 0],
      ['dead.remove', null, 'done', 0],
      ['dead.clear', null, 'done', 0],
      ['task.submit', null, 'done', 1],
      ['task.cancel', 't', 'done', 1],
      ['task.cancel', null, 'done', 0],
      ['output.pop', null, 'done', 0],
      ['pool.release', 'accounts/a', 'done', 0],
      ['worker.forget', 'w1', 'done', 1],
    ])
  })

  it('has an action on every route that changes something, and on no other route', async () => {
    const { routes } = await runMaster()
    const changes = routes.filter(
      ({ method, path, access }) =>
        method !== 'GET' && access !== 'worker' && !/\/(validate|await|preview)$/.test(path),
    )
    expect(routes.filter(({ audit }) => audit !== undefined)).toEqual(changes)
  })

  it('that was refused writes a line with the status, at most two per minute for the same call', async () => {
    const { master, entries } = await audited()
    for (let sent = 0; sent < 50; sent += 1)
      await master.call('PATCH', `${W1}/config`, { token: TOKENS.viewer, body: { slots: 2 } })
    await master.call('PATCH', `${W1}/config`, { body: { slots: 'many' } })
    await master.call('POST', `${MAILER}/workers/unknown/drain`)
    await master.stop()
    expect(
      entries().map(({ action, object, outcome, status, count }) => [action, object, outcome, status, count]),
    ).toEqual([
      ['config.change', 'w1', 'refused', 403, 1],
      ['config.change', 'w1', 'refused', 422, 1],
      ['worker.drain', 'unknown', 'refused', 404, 1],
      ['config.change', 'w1', 'refused', 403, 49],
    ])
  })

  it('has the outcome "unknown" when the store did not respond, and "failed" when the call was not sent', async () => {
    const { audit, entries } = recorder()
    const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
    const master = await startTestMaster({ audit, backend })
    backend.workers.drain = () =>
      Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'the store timed out', { outcome: 'unknown' }))
    backend.workers.forget = () =>
      Promise.reject(new FleetError('STORAGE_UNAVAILABLE', 'not connected', { outcome: 'not_sent' }))
    for (const [method, path] of [
      ['POST', `${W1}/drain`],
      ['DELETE', W1],
    ] as const)
      expect((await master.call(method, path)).status).toBe(503)
    await master.stop()
    expect(entries().map(({ action, outcome, status }) => [action, outcome, status])).toEqual([
      ['worker.drain', 'unknown', 503],
      ['worker.forget', 'failed', 503],
    ])
  })
})

describe('a refused token', () => {
  it('writes a line at its first use, then one per minute with the number of uses per peer and reason', async () => {
    const { master, entries, texts } = await audited()
    const canary = 'canary-token-3f9c-that-is-unknown'
    for (let sent = 0; sent < 20; sent += 1) await master.call('GET', `${MAILER}/workers?limit=5`, { token: canary })
    await master.call('GET', MAILER, { token: '' })
    await master.call('GET', MAILER, { token: '', headers: { authorization: 'Basic YWRtaW4=' } })
    const reasons: readonly [string, Record<string, string>][] = [
      [`?token=${canary}`, {}],
      ['', { authorization: `Bearer ${TOKENS.admin}` }],
    ]
    for (const [query, headers] of reasons) {
      const socket = new WebSocket(`${master.url.replace('http', 'ws')}${W1}/control${query}`, { headers })
      await once(socket, 'close')
    }
    await master.stop()
    const refused = entries().filter(({ action }) => action === 'token.refused')
    expect(refused.map(({ reason, route, count }) => [reason, route, count])).toEqual([
      ['wrong', `${MAILER}/workers`, 1],
      ['missing', MAILER, 1],
      ['malformed', MAILER, 1],
      ['role', `${W1}/control`, 1],
      ['wrong', `${W1}/control`, 20],
    ])
    expect(refused.every(({ peer, actor }) => peer === '127.0.0.1' && actor === null)).toBe(true)
    expect(texts.join()).not.toMatch(/canary|admin-token|limit=/)
  })
})

describe('an audit line', () => {
  it('contains no values of a config, no token and no control character', async () => {
    const { master, texts, entries } = await audited()
    await master.call('PATCH', `${W1}/config`, { body: { password: 'canary-secret', host: 'canary-host' } })
    const actor = Buffer.from('X: y\r\nMuster-Actor: \x9b31mred', 'latin1').toString('latin1')
    await sendRaw(
      master.port,
      Buffer.from(head('POST', `${MAILER}/workers/%1b%5b31m%E2%80%A8/drain`, [actor]), 'latin1'),
    )
    await master.stop()
    expect(entries().map(({ outcome, object, claimed_actor: by }) => [outcome, object, by])).toEqual([
      ['done', 'w1', null],
      ['refused', '\u001b[31m\u2028', '\u009b31mred'],
    ])
    expect(texts.join()).not.toMatch(/canary|admin-token/)
    // oxlint-disable-next-line no-control-regex -- The pattern is meant to match control characters.
    expect(texts.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
  })

  it('that cannot be written is counted and does not delay the call', async () => {
    const master = await runMaster({ audit: { classes: new Set(['auth']), write: () => false } })
    expect((await master.call('GET', '/api/v1/me', { token: 'unknown-token-of-the-test' })).status).toBe(403)
    expect((await master.call('GET', '/metrics')).text).toContain('svc_audit_dropped_total 1')
  })

  it('is dropped when the reader of stdout is too slow', () => {
    const { write } = auditTo(new Writable({ write: () => {} }), new Set())
    const taken = Array.from({ length: 200 }, () => write('x'.repeat(10_000)))
    expect(taken.indexOf(false)).toBe(105) // 1 MiB.
    expect(taken.lastIndexOf(true)).toBe(104)
  })

  it('is written only for the classes in SVC_AUDIT', async () => {
    const { master, texts } = await audited([])
    await master.call('POST', `${W1}/drain`)
    await master.call('POST', `${MAILER}/tasks`, { body: { payload: { to: 'a' } } })
    await master.call('GET', '/api/v1/me', { token: 'unknown-token-of-the-test' })
    await master.stop()
    expect(texts).toEqual([])
  })
})
