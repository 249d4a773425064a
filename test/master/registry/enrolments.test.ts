/** Enrolment rules over HTTP, and workers that register for the first time on a real control channel (D141). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import { itemsOf, type Backend } from '../../../src/storage/index.ts'
import { eventually } from '../../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { registerFrame } from './fixture.ts'

const TYPE = 'crawler'
const MASK = '********'
const crawlerOf = (maxDepth: number) =>
  defineBatch({
    type: TYPE,
    payload: Type.Object({}),
    config: Type.Object({
      depth: Type.Optional(Type.Integer({ minimum: 1, maximum: maxDepth, default: 1 })),
      url: Type.Optional(Type.String()),
      key: Type.Optional(Type.String({ writeOnly: true, minLength: 4, 'x-muster-bound-to': ['url'] })),
    }),
    run: async () => undefined,
  })
const DEFAULTS = { enabled: false, slots: 1, max_attempts: 3, recycle_seconds: 0, depth: 1 }

const sockets: WebSocket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate()
})

class Fixture {
  readonly master: TestMaster
  constructor(master: TestMaster) {
    this.master = master
  }

  call(method: string, path: string, body?: unknown, token: string = TOKENS.everyType) {
    return this.master.call(method, `/api/v1/automations/${TYPE}/${path}`, {
      token,
      ...(body !== undefined && { body }),
    })
  }

  async ok(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const { status, json } = await this.call(method, path, body)
    expect([method, path, status, status === 200 ? '' : json]).toEqual([method, path, 200, ''])
    return json as Record<string, unknown>
  }

  revision(name: string, config: object) {
    return this.ok('PUT', `revisions/${name}`, { config })
  }

  /** Connects and registers. Resolves when the record is stored. */
  async join(id: string, labels?: object): Promise<WebSocket> {
    const url = `${this.master.url.replace('http', 'ws')}/api/v1/automations/${TYPE}/workers/${id}/control`
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${TOKENS.worker}` } })
    sockets.push(socket)
    await once(socket, 'open')
    const pong = once(socket, 'message')
    socket.send(JSON.stringify(registerFrame(id, { type: TYPE, ...(labels !== undefined && { labels }) })))
    socket.send('{"type":"ping","id":"1"}')
    await pong
    return socket
  }

  record(id: string) {
    return this.ok('GET', `workers/${id}`)
  }

  /** The config of a worker with its secrets. */
  async config(id: string): Promise<unknown> {
    return ((await this.call('GET', `workers/${id}/config`, undefined, TOKENS.worker)).json as { config: unknown })
      .config
  }

  async registered(): Promise<Record<string, unknown>[]> {
    const read = await this.master.backend.events.read('', 1_000)
    const events = read.kind === 'events' ? read.events : []
    return events
      .filter(({ name }) => name === 'worker.registered')
      .flatMap((event) => itemsOf(event).map((text) => JSON.parse(text) as Record<string, unknown>))
  }
}

const startOn = async (backend?: Backend, maxDepth = 5): Promise<Fixture> =>
  new Fixture(
    await runMaster({ catalog: buildCatalog([crawlerOf(maxDepth)]), ...(backend !== undefined && { backend }) }),
  )

let fleet: Fixture
beforeEach(async () => {
  fleet = await startOn()
  await fleet.revision('r1', { enabled: true, depth: 3, url: 'https://a', key: 'canary-1' })
})

const paths = (json: unknown): readonly string[] => [
  ...new Set((json as { detail: { path: string }[] }).detail.map(({ path }) => path)),
]
const ALL = { id_patterns: ['*'], revision: 'r1' }

describe('PUT, GET and DELETE of an enrolment rule', () => {
  it('store, show and remove it, with the secrets of its patch masked', async () => {
    const shown = {
      enrolment: 'e1',
      id_patterns: ['a-*', 'b-?'],
      match_labels: { zone: 'eu-1' },
      revision: 'r1',
      patch: { slots: 2, key: MASK },
      variant: 'v1',
      managed_by: 'set:a',
    }
    const { enrolment: _, ...rule } = { ...shown, patch: { slots: 2, key: 'canary-2' } }
    expect(await fleet.ok('PUT', 'enrolments/e1', rule)).toEqual(shown)
    const plain = await fleet.ok('PUT', 'enrolments/e0', ALL)
    expect(plain).toMatchObject({ match_labels: {}, patch: {}, variant: '-', managed_by: null })
    expect(await fleet.ok('GET', 'enrolments')).toEqual({ enrolments: [plain, shown] })
    expect(await fleet.ok('DELETE', 'enrolments/e0')).toEqual({ enrolment: 'e0', removed: true })
    expect((await fleet.call('DELETE', 'enrolments/e0')).status).toBe(404)
    expect(await fleet.ok('GET', 'enrolments')).toEqual({ enrolments: [shown] })
  })

  it('names a variant by the patch, if the call names none', async () => {
    const { variant } = await fleet.ok('PUT', 'enrolments/e1', { ...ALL, patch: { slots: 2 } })
    expect(variant).toMatch(/^[0-9a-f]{8}$/)
    const { variant: other } = await fleet.ok('PUT', 'enrolments/e1', { ...ALL, patch: { slots: 3 } })
    expect(other).not.toBe(variant)
  })

  it('changes nothing if the rule is equal, whatever the order of its fields is', async () => {
    const rule = { id_patterns: ['*'], match_labels: { a: '1', b: '2' }, revision: 'r1', patch: { slots: 2, depth: 2 } }
    await fleet.ok('PUT', 'enrolments/e1', rule)
    const before = await fleet.master.backend.enrolments.list(TYPE)
    await fleet.ok('PUT', 'enrolments/e1', {
      patch: { depth: 2, slots: 2 },
      match_labels: { b: '2', a: '1' },
      revision: 'r1',
      id_patterns: ['*'],
    })
    expect(await fleet.master.backend.enrolments.list(TYPE)).toEqual(before)
  })

  it.each([
    [{ revision: 'r1' }, ''],
    [{ revision: 'r1', id_patterns: [], match_labels: {} }, ''],
    [{ id_patterns: ['*'] }, '/revision'],
    [{ ...ALL, id_patterns: [''] }, '/id_patterns/0'],
    [{ ...ALL, id_patterns: ['a/b'] }, '/id_patterns/0'],
    [{ ...ALL, id_patterns: ['a\u0000'] }, '/id_patterns/0'],
    [{ ...ALL, id_patterns: ['x'.repeat(257)] }, '/id_patterns/0'],
    [{ ...ALL, id_patterns: Array.from({ length: 17 }, () => '*') }, '/id_patterns'],
    [{ ...ALL, match_labels: { 'A b': '' } }, '/match_labels/A b'],
    [{ ...ALL, match_labels: { a: 'x'.repeat(64) } }, '/match_labels/a'],
    [{ ...ALL, patch: { depth: 9 } }, '/patch/depth'],
    [{ ...ALL, patch: { colour: 'red' } }, '/patch/colour'],
    [{ ...ALL, patch: { key: MASK } }, '/patch/key'],
    [{ ...ALL, variant: 'A' }, '/variant'],
    [{ ...ALL, managed_by: 'x'.repeat(129) }, '/managed_by'],
    [{ ...ALL, more: 1 }, '/more'],
  ])('rejects %j', async (body, path) => {
    const { status, json } = await fleet.call('PUT', 'enrolments/e1', body)
    expect([status, paths(json)]).toEqual([422, [path]])
    expect(await fleet.ok('GET', 'enrolments')).toEqual({ enrolments: [] })
  })

  it('sends no secret of the revision to another destination (D88)', async () => {
    const moved = { ...ALL, patch: { url: 'https://elsewhere' } }
    const { status, json } = await fleet.call('PUT', 'enrolments/e1', moved)
    expect([status, paths(json)]).toEqual([422, ['/revision']])
    const own = { ...ALL, patch: { url: 'https://elsewhere', key: 'canary-2' } }
    expect((await fleet.call('PUT', 'enrolments/e1', own)).status).toBe(200)
  })

  it('rejects a patch that is too deep or too large', async () => {
    const deep = JSON.parse(`${'{"url":'.repeat(70)}1${'}'.repeat(70)}`) as object
    const statusOf = async (patch: object) => (await fleet.call('PUT', 'enrolments/e1', { ...ALL, patch })).status
    expect(await statusOf(deep)).toBe(422)
    expect(await statusOf({ url: 'x'.repeat(140_000) })).toBe(413)
  })

  it.each(['E1', '-e', 'a b', 'x'.repeat(64), 'a%2Fb', '__proto__'])('rejects the name %s', async (name) => {
    const { status, json } = await fleet.call('PUT', `enrolments/${name}`, ALL)
    expect([status, paths(json)]).toEqual([422, ['/enrolment']])
  })

  it('returns 404 for a revision that is not stored, and 422 for the 17th rule', async () => {
    const unknown = await fleet.call('PUT', 'enrolments/e1', { ...ALL, revision: 'r9' })
    expect([unknown.status, unknown.json]).toEqual([404, { detail: expect.stringContaining('revision "r9"') }])
    for (let n = 0; n < 16; n += 1) await fleet.ok('PUT', `enrolments/e${n}`, ALL)
    const { status, json } = await fleet.call('PUT', 'enrolments/more', ALL)
    expect([status, paths(json)]).toEqual([422, ['/enrolment']])
    expect(JSON.stringify(json)).toContain('has 16 enrolment rules')
    await fleet.ok('PUT', 'enrolments/e7', { ...ALL, managed_by: 'me' })
  })
})

describe('a worker that registers for the first time', () => {
  it('gets revision and patch of the rule that selects it, its label and its manager', async () => {
    const body = { ...ALL, patch: { slots: 4 }, variant: 'v1', managed_by: 'set:a' }
    await fleet.ok('PUT', 'enrolments/e1', body)
    await fleet.join('w1')
    expect(await fleet.record('w1')).toMatchObject({
      config_gen: 0,
      config_revision: 'r1/v1',
      managed_by: 'set:a',
      config: { enabled: true, slots: 4, depth: 3, key: MASK },
    })
    const config = { ...DEFAULTS, enabled: true, slots: 4, depth: 3, url: 'https://a', key: 'canary-1' }
    expect(await fleet.config('w1')).toEqual(config)
    expect(await fleet.ok('GET', 'revisions')).toMatchObject({ revisions: [{ revision: 'r1', workers: 1 }] })
    await eventually('the event is published', async () => (await fleet.registered()).length === 1)
    expect(await fleet.registered()).toMatchObject([
      { worker_id: 'w1', enrolment: { rule: 'e1' }, config_revision: 'r1/v1', managed_by: 'set:a' },
    ])
  })

  it('gets the first rule by name that matches, by id and by labels', async () => {
    await fleet.ok('PUT', 'enrolments/b', { id_patterns: ['*'], revision: 'r1', patch: { slots: 3 } })
    await fleet.ok('PUT', 'enrolments/a', { match_labels: { zone: 'eu-1' }, revision: 'r1', patch: { slots: 2 } })
    await fleet.ok('PUT', 'enrolments/0', {
      id_patterns: ['x-*', 'y-*'],
      match_labels: { zone: 'eu-1', tier: 'spot' },
      revision: 'r1',
      patch: { slots: 1 },
    })
    const slots = async (id: string, labels?: object) => {
      await fleet.join(id, labels)
      return ((await fleet.record(id))['config'] as { slots: number }).slots
    }
    expect(await slots('w1')).toBe(3)
    expect(await slots('w2', { zone: 'eu-1' })).toBe(2)
    expect(await slots('x-1', { zone: 'eu-1' })).toBe(2)
    expect(await slots('y-1', { zone: 'eu-1', tier: 'spot' })).toBe(1)
    expect(await slots('z-1', { zone: 'eu-1', tier: 'spot' })).toBe(2)
  })

  it('gets the defaults if no rule matches, as without rules (D4)', async () => {
    await fleet.join('before')
    await fleet.ok('PUT', 'enrolments/e1', { ...ALL, id_patterns: ['x-*'] })
    await fleet.join('w1')
    await fleet.ok('DELETE', 'enrolments/e1')
    await fleet.join('x-1')
    for (const id of ['before', 'w1', 'x-1']) {
      expect(await fleet.config(id)).toEqual(DEFAULTS)
      expect(await fleet.record(id)).toMatchObject({ config_revision: null, managed_by: null, config_gen: 0 })
    }
    await eventually('the events are published', async () => (await fleet.registered()).length === 3)
    for (const event of await fleet.registered()) expect(Object.keys(event)).not.toContain('enrolment')
  })

  it('keeps what it has when it registers again, and is enrolled again after it was forgotten', async () => {
    await fleet.join('w1')
    await fleet.ok('PUT', 'enrolments/e1', ALL)
    await fleet.join('w1')
    expect(await fleet.config('w1')).toEqual(DEFAULTS)
    await fleet.ok('DELETE', 'workers/w1')
    await fleet.join('w1')
    expect(await fleet.record('w1')).toMatchObject({ config_revision: 'r1/-', config_gen: 1, config: { depth: 3 } })
    await fleet.ok('PATCH', 'workers/w1/config', { depth: 2 })
    await fleet.join('w1')
    expect(await fleet.record('w1')).toMatchObject({ config_revision: 'r1/*', config: { depth: 2 } })
  })

  it('follows a changed rule from the next register on, at every master', async () => {
    const other = await startOn(fleet.master.backend)
    for (const [round, { slots }] of [{ slots: 2 }, { slots: 3 }, { slots: 4 }].entries()) {
      await fleet.ok('PUT', 'enrolments/e1', { ...ALL, patch: { slots } })
      for (const [name, master] of Object.entries({ one: fleet, other })) {
        await master.join(`${name}-${round}`)
        expect(await fleet.record(`${name}-${round}`)).toMatchObject({ config: { slots } })
      }
    }
    await other.ok('DELETE', 'enrolments/e1')
    await fleet.join('last')
    expect(await fleet.config('last')).toEqual(DEFAULTS)
  })

  it('is enrolled with many others while the rule changes, each by one whole rule', async () => {
    const ids = Array.from({ length: 40 }, (_, n) => `w-${n}`)
    const changes = async () => {
      for (let slots = 1; slots <= 10; slots += 1)
        await fleet.ok('PUT', 'enrolments/e1', {
          ...ALL,
          patch: { slots, depth: slots % 5 || 5 },
          variant: `v${slots}`,
        })
    }
    await Promise.all([changes(), ...ids.map((id) => fleet.join(id))])
    for (const id of ids) {
      const { config_revision: label, config } = await fleet.record(id)
      const { slots, depth, enabled } = config as { slots: number; depth: number; enabled: boolean }
      if (enabled) expect([label, depth]).toEqual([`r1/v${slots}`, slots % 5 || 5])
      else expect([label, slots, depth]).toEqual([null, 1, 1])
    }
  })

  it('gets the defaults if the config of the rule is invalid for the installed automation', async () => {
    await fleet.ok('PUT', 'enrolments/e1', { ...ALL, managed_by: 'set:a' })
    const upgraded = await startOn(fleet.master.backend, 2)
    await upgraded.join('w1')
    await upgraded.join('w2')
    expect(await upgraded.config('w1')).toEqual(DEFAULTS)
    expect(await upgraded.record('w1')).toMatchObject({ config_revision: null, managed_by: null })
    const warnings = upgraded.master.lines.filter(({ message }) => message.includes('enrolment rule'))
    expect(warnings).toMatchObject([
      {
        level: 'warn',
        fields: { rule: 'e1', revision: 'r1', worker_id: 'w1', reason: expect.stringContaining('/depth') },
      },
    ])
    await eventually('the events are published', async () => (await upgraded.registered()).length === 2)
    expect(await upgraded.registered()).toMatchObject([
      { enrolment: { rule: 'e1', error: expect.stringContaining('/depth') } },
      { enrolment: { rule: 'e1', error: expect.stringContaining('/depth') } },
    ])
    expect(JSON.stringify([warnings, await upgraded.registered()])).not.toContain('canary-1')
  })
})
