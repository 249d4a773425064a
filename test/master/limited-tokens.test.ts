/** Tokens of SVC_TOKENS that are limited to some workers, expire, or have a rate of their own, at a whole master. */
import { once } from 'node:events'
import { beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { parseTokens } from '../../src/master/auth/index.ts'
import { systemTime } from '../../src/runtime/index.ts'
import { eventually } from '../kit/index.ts'
import { canaries } from '../kit/canary.ts'
import { runMaster, startTestMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'

const TYPE = '/api/v1/automations/mailer'
const OWN = ['team-a-1', 'team-a-2']
const FOREIGN = ['team-b-1', 'team-b-2']
const TEAM = canaries.create('team-a')
const TEAM_WORKER = canaries.create('team-a-worker')

const tokensOf = (...entries: readonly object[]) => {
  const reading = parseTokens({
    SVC_TOKENS: JSON.stringify(entries.map((entry) => ({ types: ['mailer'], ...entry }))),
  })
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  return {
    admin: TOKENS.admin,
    worker: TOKENS.worker,
    workerPeers: [],
    scopes: new Map(),
    named: reading.tokens.named ?? [],
  }
}

/** Connects a worker. @returns its socket after the register was acknowledged, or its close code. */
async function connect(master: TestMaster, id: string, token = TOKENS.worker): Promise<WebSocket | number> {
  const socket = new WebSocket(`${master.url.replace('http', 'ws')}${TYPE}/workers/${id}/control`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const closed = once(socket, 'close').then(([code]: number[]) => code ?? 0)
  await Promise.race([once(socket, 'open'), closed])
  const hardware = { cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' }
  const frame = { type: 'register', worker_id: id, automation_type: 'mailer', protocol_version: 1, hardware }
  for (const each of [frame, { type: 'ping', id: 'p' }]) socket.send(JSON.stringify(each), () => {})
  return Promise.race([once(socket, 'message').then(() => socket), closed])
}

const namesIn = (text: string): readonly string[] =>
  [...new Set(text.match(/team-[ab]-\d/g))].filter((name) => [...OWN, ...FOREIGN].includes(name)).toSorted()

describe('a token that is limited to workers (D227)', () => {
  let master: TestMaster
  const team = (method: string, path: string, body?: unknown) => master.call(method, path, { token: TEAM, body })

  beforeAll(async () => {
    master = await startTestMaster({
      tokens: tokensOf(
        { name: 'team-a', role: 'editor', workers: ['team-a-*'], token: TEAM },
        { name: 'team-a-workers', role: 'worker', workers: ['team-a-*'], token: TEAM_WORKER },
      ),
    })
    for (const id of [...OWN, ...FOREIGN]) expect(await connect(master, id)).toBeInstanceOf(WebSocket)
  })
  afterAll(() => master.stop())

  it('is shown in /me with its workers', async () => {
    expect((await team('GET', '/api/v1/me')).json).toMatchObject({
      role: 'scoped',
      name: 'team-a',
      automations: ['mailer'],
      workers: ['team-a-*'],
    })
    expect((await master.call('GET', '/api/v1/me')).json).not.toHaveProperty('workers')
  })

  it.each([
    ['GET', `${TYPE}/workers`],
    ['GET', `${TYPE}/workers?limit=2&view=summary`],
    ['GET', `${TYPE}/worker-columns`],
    ['GET', '/api/v1/worker-groups'],
    ['GET', '/api/v1/worker-changes?since=SINCE&stats_after='],
  ])('gets its own workers alone from %s %s', async (method, path) => {
    await master.call('POST', `${TYPE}/workers/team-b-1/drain`)
    await master.call('POST', `${TYPE}/workers/team-a-1/drain`)
    const { json } = await master.call('GET', `${TYPE}/worker-columns`)
    const since = (json as { cursor: string }).cursor.replace(/\d+$/, '0')
    const { status, text } = await team(method, path.replace('SINCE', since))
    expect(status).toBe(200)
    expect(namesIn(text).filter((name) => FOREIGN.includes(name))).toEqual([])
    expect(namesIn(text)).toContain('team-a-1')
  })

  it('counts its own workers alone in the overview', async () => {
    expect((await team('GET', '/api/v1/overview')).json).toMatchObject({
      automations: { mailer: { workers: { total: OWN.length } } },
    })
    expect((await master.call('GET', '/api/v1/overview')).json).toMatchObject({
      automations: { mailer: { workers: { total: OWN.length + FOREIGN.length } } },
    })
  })

  it('receives the events of its own workers alone, single and batched', async () => {
    for (const query of ['', '?batched=true']) {
      const stop = new AbortController()
      const response = await fetch(`${master.url}/api/v1/events${query}`, {
        headers: { authorization: `Bearer ${TEAM}` },
        signal: stop.signal,
      })
      let text = ''
      const reading = (async () => {
        for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString()
      })().catch(() => {})
      for (const id of ['team-b-1', 'team-a-2', 'team-b-2', 'team-a-1'])
        await master
          .call('DELETE', `${TYPE}/workers/${id}/claim`)
          .then(() => master.call('PUT', `${TYPE}/workers/${id}/claim`, { body: { managed_by: 'test' } }))
      await eventually(() => namesIn(text).includes('team-a-1'))
      stop.abort()
      await reading
      expect(namesIn(text)).toEqual(OWN)
    }
  })

  it('gets 403 for a foreign worker, whether or not it exists (D56)', async () => {
    const worker = (id: string) => `${TYPE}/workers/${id}`
    for (const id of ['team-b-1', 'team-b-none'])
      for (const [method, path, body] of [
        ['GET', worker(id)],
        ['GET', `${worker(id)}/stats`],
        ['GET', `${worker(id)}/logs`],
        ['GET', `${worker(id)}/config/history`],
        ['POST', `${worker(id)}/drain`],
        ['PATCH', `${worker(id)}/config`, { slots: 2 }],
        ['PUT', `${worker(id)}/claim`, { managed_by: 'me' }],
        ['DELETE', worker(id)],
        ['GET', `${TYPE}/runs?worker_id=${id}`],
      ] as const) {
        const { status, json } = await team(method, path, body)
        expect([method, path, status, json]).toEqual([
          method,
          path,
          403,
          { detail: `this token does not cover the worker "${id}"` },
        ])
      }
    expect((await team('GET', worker('team-a-1'))).status).toBe(200)
    expect((await team('GET', worker('team-a-none'))).status).toBe(404)
  })

  it('changes foreign workers neither in bulk nor by an operation', async () => {
    await master.call('PUT', `${TYPE}/revisions/r-1`, { body: { config: { slots: 2 } } })
    const item = (id: string) => ({ worker_id: id })
    const apply = (ids: readonly string[]) =>
      team('POST', `${TYPE}/configs`, { revision: 'r-1', dry_run: true, workers: ids.map(item) })
    expect((await apply(['team-a-1', 'team-b-1'])).status).toBe(403)
    expect((await apply(['team-a-1'])).status).toBe(200)
    const patch = { kind: 'patch', patch: { slots: 3 } }
    const preview = (targets: object) => team('POST', `${TYPE}/operations/preview`, { ...patch, ...targets })
    expect((await preview({ workers: ['team-b-1'] })).status).toBe(403)
    expect((await preview({ id_patterns: ['team-*'] })).json).toMatchObject({ total: OWN.length })
    expect((await team('POST', `${TYPE}/operations`, { ...patch, workers: ['team-b-1'] })).status).toBe(403)
  })

  it('sees and cancels its own operations alone', async () => {
    const create = async (token: string, targets: object) => {
      const body = { kind: 'patch', patch: { slots: 4 }, per_second: 1, parallel: 1, ...targets }
      const { status, json } = await master.call('POST', `${TYPE}/operations`, { token, body })
      expect([status, json]).toEqual([200, expect.anything()])
      return (json as { operation: string }).operation
    }
    const foreign = await create(TOKENS.admin, { workers: ['team-b-1'] })
    const own = await create(TEAM, { id_patterns: ['*'] })
    const { json } = await team('GET', '/api/v1/operations')
    expect((json as { operations: { operation: string; total: number }[] }).operations).toEqual([
      expect.objectContaining({ operation: own, total: OWN.length }),
    ])
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/results'],
      ['POST', '/cancel'],
      ['POST', '/undo'],
    ] as const) {
      expect([path, (await team(method, `${TYPE}/operations/${foreign}${path}`)).status]).toEqual([path, 403])
      if (path !== '/undo')
        expect([path, (await team(method, `${TYPE}/operations/${own}${path}`)).status]).toEqual([path, 200])
    }
  })

  it('stores and removes enrolment rules for its own workers alone', async () => {
    await master.call('PUT', `${TYPE}/revisions/r-1`, { body: { config: { slots: 2 } } })
    const put = (token: string, name: string, rule: object) =>
      master.call('PUT', `${TYPE}/enrolments/${name}`, { token, body: { revision: 'r-1', ...rule } })
    expect((await put(TOKENS.admin, 'theirs', { id_patterns: ['team-b-*'] })).status).toBe(200)
    expect((await put(TEAM, 'ours', { id_patterns: ['team-a-x-*'] })).status).toBe(200)
    for (const rule of [{ id_patterns: ['*'] }, { id_patterns: ['team-?-1'] }, { match_labels: { zone: 'eu' } }])
      expect([rule, (await put(TEAM, 'wide', rule)).status]).toEqual([rule, 403])
    expect((await put(TEAM, 'theirs', { id_patterns: ['team-a-*'] })).status).toBe(403)
    expect((await team('DELETE', `${TYPE}/enrolments/theirs`)).status).toBe(403)
    const { json } = await team('GET', `${TYPE}/enrolments`)
    expect((json as { enrolments: { enrolment: string }[] }).enrolments.map((each) => each.enrolment)).toEqual(['ours'])
    expect((await team('DELETE', `${TYPE}/enrolments/ours`)).status).toBe(200)
  })

  it('of the role worker connects and works as its own workers alone', async () => {
    expect(await connect(master, 'team-b-9', TEAM_WORKER)).toBe(4401)
    expect(await connect(master, 'team-a-9', TEAM_WORKER)).toBeInstanceOf(WebSocket)
    const config = (id: string) => master.call('GET', `${TYPE}/workers/${id}/config`, { token: TEAM_WORKER })
    expect((await config('team-b-1')).status).toBe(403)
    expect((await config('team-a-1')).status).not.toBe(403)
  })
})

it('a token with workers keeps its rights on what belongs to the type: tasks and their queue', async () => {
  const master = await runMaster({
    tokens: tokensOf({ name: 'team-a', role: 'editor', workers: ['team-a-*'], token: TEAM }),
  })
  const body = { payload: { to: 'a' } }
  expect((await master.call('POST', `${TYPE}/tasks`, { token: TEAM, body })).status).toBe(200)
  expect((await master.call('GET', `${TYPE}/queue`, { token: TEAM })).status).toBe(200)
})

it('a token that expires is refused with a text that says so, and its streams and sockets end (D228)', async () => {
  const expires = new Date(systemTime.wallMs() + 4_000).toISOString()
  const master = await runMaster({
    tokens: tokensOf(
      { name: 'short', role: 'viewer', expires, token: TEAM },
      { name: 'short-worker', role: 'worker', expires, token: TEAM_WORKER },
    ),
  })
  expect((await master.call('GET', '/api/v1/me', { token: TEAM })).json).toMatchObject({
    expires_at: Date.parse(expires) / 1_000,
  })
  const stream = await fetch(`${master.url}/api/v1/events`, { headers: { authorization: `Bearer ${TEAM}` } })
  const socket = await connect(master, 'w-1', TEAM_WORKER)
  if (typeof socket === 'number') throw new Error(`closed with ${socket}`)
  const closed = once(socket, 'close')
  await stream.text()
  expect((await closed)[0]).toBe(4401)
  expect(systemTime.wallMs() - Date.parse(expires)).toBeLessThan(5_000)
  const { status, json, headers } = await master.call('GET', '/api/v1/me', { token: TEAM })
  expect([status, json]).toEqual([
    403,
    { detail: `this token expired at ${expires.replace('.000Z', 'Z')}; use a new one` },
  ])
  expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
})

it('a token with a rate of its own may submit so many tasks a second, and others more (D229)', async () => {
  const master = await runMaster({
    tokens: tokensOf({ name: 'slow', role: 'producer', submit_rps: 0.01, token: TEAM }),
  })
  const submit = async (token: string) =>
    (await master.call('POST', `${TYPE}/tasks`, { token, body: { payload: { to: 'a' } } })).status
  expect([await submit(TEAM), await submit(TEAM)]).toEqual([200, 429])
  expect(await submit(TOKENS.admin)).toBe(200)
})
