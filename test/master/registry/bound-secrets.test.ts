/** Secrets that are bound to their destinations, tested with the built-in automations over HTTP (D88, D89). */
import { describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, Type } from '../../../src/automation/index.ts'
import { httpProbe, httpRequest } from '../../../src/automations/index.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

const OWNER = { name: 'a', url: 'https://api.example.com/' }
const ATTACKER = { name: 'b', url: 'https://attacker.example/' }
const SECRET = 'Bearer canary-of-the-owner'

async function withSecret(type: 'http-probe' | 'http-request', config: object) {
  const master = await runMaster({ catalog: buildCatalog([httpProbe, httpRequest]) })
  await master.backend.workers.register([{ type, id: 'w1', conn: 'm/1', instance: '', hardware: '{}', defaults: '{}' }])
  const path = `/api/v1/automations/${type}/workers/w1/config`
  const patch = (body: object, token: string = TOKENS.everyType) => master.call('PATCH', path, { body, token })
  expect((await patch({ authorization: SECRET, ...config }, TOKENS.admin)).status).toBe(200)
  const validate = async (body: object) =>
    (await master.call('POST', `${path}/validate`, { body, token: TOKENS.everyType })).json
  const stored = async () =>
    (await master.call('GET', path, { token: TOKENS.worker })).json as { config: Record<string, unknown> }
  return { patch, validate, stored, master, path }
}

const refusal = (...fields: string[]) => [
  {
    path: '/authorization',
    keyword: 'boundSecret',
    params: { fields },
    message:
      `is bound to ${fields.join(', ')}, which this PATCH changes; ` +
      'send the secret again in the same PATCH, or null to clear it',
  },
]

describe('a PATCH of a destination', () => {
  it.each([
    ['targets', { targets: [ATTACKER] }],
    ['targets', { targets: [OWNER, ATTACKER] }],
    ['targets', { targets: null }],
    ['allow_cidrs', { allow_cidrs: ['10.0.0.0/8'] }],
    ['allow_ports', { allow_ports: [80, 443, 8_080] }],
    ['targets', { targets: [ATTACKER], authorization: '********' }],
  ])('of http-probe that keeps the stored secret is refused: %s, %j', async (field, body) => {
    const { patch, stored, validate } = await withSecret('http-probe', { targets: [OWNER] })
    const { status, json } = await patch(body)
    expect([status, json]).toEqual([422, { detail: refusal(field) }])
    expect(await validate(body)).toEqual({ valid: false, errors: refusal(field) })
    expect((await stored()).config).toMatchObject({
      targets: [OWNER],
      authorization: SECRET,
      allow_cidrs: [],
      allow_ports: [80, 443],
    })
  })

  it.each([
    ['authorization_hosts', ['attacker.example']],
    ['allow_hosts', ['attacker.example']],
    ['allow_cidrs', ['0.0.0.0/0']],
    ['allow_ports', [8_080]],
  ])('of http-request that keeps the stored secret is refused: %s', async (field, value) => {
    const { patch } = await withSecret('http-request', { authorization_hosts: ['https://api.example.com'] })
    expect((await patch({ [field]: value })).json).toEqual({ detail: refusal(field) })
  })

  it('names every field at fault', async () => {
    const { patch } = await withSecret('http-request', {})
    expect((await patch({ allow_hosts: ['a.example'], allow_cidrs: ['10.0.0.0/8'], slots: 2 })).json).toEqual({
      detail: refusal('allow_hosts', 'allow_cidrs'),
    })
  })

  it('is accepted with a new secret, without a secret, and when nothing changes or nothing is stored', async () => {
    const { patch, stored } = await withSecret('http-probe', { targets: [OWNER] })
    expect((await patch({ targets: [OWNER], slots: 2, user_agent: 'x', interval_seconds: 5 })).status).toBe(200)
    expect((await patch({ targets: [ATTACKER], authorization: 'Bearer their-own' })).status).toBe(200)
    expect((await stored()).config).toMatchObject({ targets: [ATTACKER], authorization: 'Bearer their-own' })
    expect((await patch({ targets: [OWNER], authorization: null })).status).toBe(200)
    expect((await stored()).config).not.toHaveProperty('authorization')
    expect((await patch({ targets: [ATTACKER] })).status).toBe(200)
  })
})

describe('the history of a config', () => {
  it('does not reveal whether a sent secret equals the stored one (D89)', async () => {
    const { patch, validate, master, path } = await withSecret('http-probe', { targets: [OWNER] })
    for (const guess of [SECRET, 'Bearer a-wrong-guess']) {
      expect((await patch({ authorization: guess })).status).toBe(200)
      await patch({ authorization: SECRET }, TOKENS.admin)
      expect(await validate({ authorization: guess })).toMatchObject({ changed: ['authorization'] })
    }
    const history = (await master.call('GET', `${path}/history`)).json as { changed: string[] }[]
    expect(history.map(({ changed }) => changed)).toEqual([
      ...Array.from({ length: 4 }, () => ['authorization']),
      ['authorization', 'targets'],
    ])
  })
})

describe('a schema with a binding', () => {
  const define = (config: Parameters<typeof Type.Object>[0]) => () =>
    buildCatalog([
      defineBatch({ type: 'x', payload: Type.Object({}), config: Type.Object(config), run: async () => {} }),
    ])
  const key = (fields: unknown) => Type.Optional(Type.String({ writeOnly: true, 'x-muster-bound-to': fields }))

  it('compiles when it names other fields of the config, at any depth', () => {
    expect(define({ host: Type.Optional(Type.String()), key: key(['host']) })).not.toThrow()
    expect(
      define({ host: Type.Optional(Type.String()), smtp: Type.Optional(Type.Object({ key: key(['host']) })) }),
    ).not.toThrow()
  })

  it.each([
    [
      { key: key(['hots']), host: Type.Optional(Type.String()) },
      '/config/properties/key/x-muster-bound-to lists top-level fields of this config',
    ],
    [{ key: key(['key']) }, '/config/properties/key/x-muster-bound-to lists top-level fields of this config'],
    [
      { host: Type.Optional(Type.String({ 'x-muster-bound-to': ['host'] })) },
      '/config/properties/host/x-muster-bound-to works at a writeOnly field below /properties alone',
    ],
    [{ key: key('host'), host: Type.Optional(Type.String()) }, 'x-muster-bound-to'],
    [{ key: key([]), host: Type.Optional(Type.String()) }, 'x-muster-bound-to'],
  ])('is rejected when the binding would protect nothing: %#', (config, problem) => {
    expect(define(config)).toThrow(problem)
  })
})
