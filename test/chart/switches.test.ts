/**
 * Combines every two switches of the values in all possible positions, and checks the render against closed schemas
 * (R1).
 */
import { afterAll, describe, expect, it } from '@jest/globals'
import { idOf, merged, objectsOf, template, type Json } from './chart.ts'
import { Conformance } from './conform.ts'
import { pairwise, type Matrix, type Row } from './pairwise.ts'
import { leavesOf, nested, SCHEMA } from './random-values.ts'

const MINUTES = 60_000
/** Values that the switches need when they are on. */
const GROUND: Json = {
  masterUrl: 'https://muster.example',
  workers: { probe: { type: 'http-probe', set: { slots: 2, config: { enabled: true } } } },
  exposure: {
    host: 'muster.example',
    gateway: { parentRefs: [{ name: 'web' }] },
    tls: { certManager: { issuer: 'ca' } },
  },
}
const TENANTS = { '*': { types: ['*'], workers: ['*'] } }
/** Switches that are more than a boolean: a name, and the values of each position. */
const MORE: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  trust: { none: {}, configMap: { trust: { configMap: 'ca' } }, secret: { trust: { secret: 'ca' } } },
  tokens: {
    made: {},
    'without issuers': {
      tokens: { admin: { secret: 'a' }, worker: { secret: 'a' }, scaler: { secret: 'a' } },
      redis: { embedded: { password: { secret: 'a' } } },
    },
    given: {
      tokens: {
        admin: { secret: 'a' },
        worker: { secret: 'a' },
        scaler: { secret: 'a' },
        named: { secret: 'a' },
        issuers: { secret: 'a' },
      },
      redis: { embedded: { password: { secret: 'a' } } },
    },
  },
  'tokens of the operator': { same: {}, own: { tokens: { operator: { secret: 'a' } } } },
  namespaces: {
    own: {},
    all: { operator: { watchNamespaces: ['*'], tenants: TENANTS } },
    some: { operator: { watchNamespaces: ['a', 'b'], tenants: TENANTS } },
  },
  'redis elsewhere': {
    url: { redis: { external: { url: 'kvstores://redis.example:6379', password: { secret: 'a' } } } },
    secret: { redis: { external: { urlSecret: { name: 'a' }, clientCert: { secret: 'a' } } } },
  },
  'redis with TLS': { no: {}, yes: { redis: { embedded: { tls: { secret: 'a' } } } } },
  replicas: { one: {}, two: { master: { replicas: 2 }, operator: { replicas: 2 }, workerDefaults: { replicas: 2 } } },
  automations: {
    image: {},
    volume: { automations: { volume: { configMap: { name: 'a' } } } },
    inline: { automations: { inline: { 'a.mjs': '' } } },
  },
}
const words = leavesOf(SCHEMA)
  .filter(({ schema }) => schema.enum !== undefined || schema.type === 'boolean')
  .map(({ path, schema }) => [path.join('.'), schema.enum ?? [true, false]] as const)
const MATRIX: Matrix = {
  ...Object.fromEntries(words),
  ...Object.fromEntries(Object.entries(MORE).map(([name, positions]) => [name, Object.keys(positions)])),
}
const INGRESS_ALONE = new Set(['haproxy', 'f5-nginx', 'ingress-nginx', 'contour', 'openshift', 'alb'])

/** Excludes combinations that the chart rejects, see test/chart/values.test.ts. */
function isPossible(row: Row): boolean {
  const { 'exposure.type': type, 'exposure.profile': profile } = row as {
    'exposure.type'?: string
    'exposure.profile'?: string
  }
  const {
    'workerDefaults.autoscaling.type': autoscaler = 'none',
    'workerDefaults.autoscaling.scaleIn': scaleIn,
    'operator.rbac.scaleWorkers': scaleWorkers,
  } = row
  const isExposed = type !== undefined && type !== 'none'
  const cannotMake =
    row['tokens.generate'] === false || row['operator.enabled'] === false || row['master.enabled'] === false
  const excludesAccounts =
    row['operator.enabled'] === false ||
    row['master.enabled'] === false ||
    row['tokens'] === 'given' ||
    row['tokens of the operator'] === 'own'
  return (
    !(isExposed && row['master.enabled'] === false) &&
    !(type === 'gateway' && INGRESS_ALONE.has(String(profile))) &&
    !(type === 'ingress' && profile === 'envoy-gateway') &&
    !(cannotMake && row['tokens'] === 'made') &&
    !(row['tokens.kubernetes.enabled'] === true && excludesAccounts) &&
    !(row['operator.configFrom.secrets'] === true && row['namespaces'] !== 'some') &&
    !(autoscaler !== 'none' && scaleIn === 'Safe' && scaleWorkers === 'none') &&
    !(row['redis with TLS'] === 'yes' && row['trust'] === 'none')
  )
}

const valuesOf = (row: Row): Json =>
  Object.entries(row)
    .map(([name, value]) => MORE[name]?.[String(value)] ?? nested(name.split('.'), value))
    .reduce(merged, GROUND)

describe('two switches of the chart', () => {
  const conformance = new Conformance()
  afterAll(() => conformance.close())
  const rows = pairwise(MATRIX, isPossible)

  it('are all in the matrix, and combined within few rows', () => {
    expect(Object.keys(MATRIX).length).toBeGreaterThan(40)
    expect(rows.length).toBeLessThan(80)
    expect(rows.every(isPossible)).toBe(true)
  })

  it(
    'are independent: each row renders valid objects with unique names',
    () => {
      const texts = rows.map((row) => {
        const { status, stdout, stderr } = template(valuesOf(row))
        expect({ row, status, stderr }).toEqual({ row, status: 0, stderr: '' })
        const ids = objectsOf(stdout).map(idOf)
        expect({ row, ids }).toEqual({ row, ids: [...new Set(ids)] })
        return stdout
      })
      const { status, stdout } = conformance.of(texts.join('\n---\n'))
      expect(stdout).toContain('Invalid: 0, Errors: 0, Skipped: 0')
      expect(status).toBe(0)
    },
    10 * MINUTES,
  )
})
