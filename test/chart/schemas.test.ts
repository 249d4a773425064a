/**
 * Checks every object of every scenario against closed schemas: those of a real API server, of our own kind, and small
 * ones of foreign kinds (R2).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApiServer, type ApiServer } from '../operator/real-apiserver.ts'
import { CHART, render, SCENARIOS, template, type Json, type KubeObject } from './chart.ts'
import { fileOf, RECORDED } from './closed-schemas.ts'
import { Conformance } from './conform.ts'
import { FOREIGN_DEFINITIONS } from './foreign.ts'
import { schemaOf } from './schemas.ts'

const UPDATE = process.env['UPDATE_SCHEMAS'] === '1'
const kinds = [
  ...new Set(
    Object.values(SCENARIOS)
      .flatMap((values) => render(values))
      .map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
  ),
].toSorted()
const isForeign = (apiVersion: string): boolean =>
  FOREIGN_DEFINITIONS.some(({ spec: { group } }) => apiVersion.startsWith(`${group}/`))
/** Kinds of examples/ that the chart does not render; test/examples checks their objects. */
const EXAMPLE_KINDS = ['batch/v1 CronJob']
const ownKinds = [...kinds.filter((each) => !isForeign(each) && !each.startsWith('muster.dev/')), ...EXAMPLE_KINDS]

describe('the objects of the chart', () => {
  let server: ApiServer
  const conformance = new Conformance()
  beforeAll(async () => {
    server = await startApiServer()
  }, 120_000)
  afterAll(async () => {
    await server.close()
    conformance.close()
  })

  const recorded = (id: string): string => join(RECORDED, fileOf(id))
  const live = async (id: string): Promise<string> => {
    const [apiVersion = '', kind = ''] = id.split(' ')
    const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion]
    const { body } = await server.request(
      'GET',
      `/openapi/v3/${group === '' ? `api/${version}` : `apis/${group}/${version}`}`,
    )
    return `${JSON.stringify(schemaOf(body as never, group, version, kind))}\n`
  }

  it.each(ownKinds)('have the recorded schema of a real API server: %s', async (id) => {
    const now = await live(id)
    if (UPDATE) {
      mkdirSync(RECORDED, { recursive: true })
      writeFileSync(recorded(id), now)
    }
    expect(existsSync(recorded(id)) && readFileSync(recorded(id), 'utf8') === now).toBe(true)
  })

  it.each(Object.entries(SCENARIOS))('match closed schemas: %s', (_, values) => {
    const { status, stdout } = conformance.of(template(values).stdout)
    expect(stdout).toContain('Invalid: 0, Errors: 0, Skipped: 0')
    expect(status).toBe(0)
  })

  it('do not match with a misspelt field', () => {
    const objects = render(SCENARIOS['everything'] as Json)
    const broken = (change: (text: string) => string): number | null =>
      conformance.of(objects.map((each: KubeObject) => change(JSON.stringify(each))).join('\n---\n')).status
    expect(broken((text) => text)).toBe(0)
    for (const [from, to] of [
      ['"serviceName"', '"servicename"'],
      ['"endpoints"', '"endpoint"'],
      ['"automountServiceAccountToken"', '"automountToken"'],
      ['"pathType"', '"pathtype"'],
      ['"alert"', '"alarm"'],
    ] as const) {
      expect([from, broken((text) => text.replaceAll(from, to))]).toEqual([from, 1])
    }
  })

  it.each(['fleetworkers', 'fleetworkersets'])('come from a chart whose examples match its own kind, %s', (plural) => {
    const name = `${plural}.muster.dev.yaml`
    expect(readFileSync(join(CHART, 'files', name), 'utf8')).toBe(readFileSync(join('crds', name), 'utf8'))
  })
})
