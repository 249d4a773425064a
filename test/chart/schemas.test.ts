/** Every object of every scenario against closed schemas: those of a real API server, ours of our kind, and small ones of foreign kinds (R2). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startApiServer, type ApiServer } from '../operator/real-apiserver.ts'
import { CHART, render, run, SCENARIOS, template, type Json, type KubeObject } from './chart.ts'
import { FOREIGN_DEFINITIONS } from './foreign.ts'
import { schemaOf } from './schemas.ts'

const FOLDER = resolve('test/chart/schemas')
const UPDATE = process.env['UPDATE_SCHEMAS'] === '1'
const kinds = [...new Set(Object.values(SCENARIOS).flatMap((values) => render(values)).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))].toSorted()
const isForeign = (apiVersion: string): boolean => FOREIGN_DEFINITIONS.some(({ spec: { group } }) => apiVersion.startsWith(`${group}/`))
const ownKinds = kinds.filter((each) => !isForeign(each))
const fileOf = (id: string): string => `${id.replace(/^(.*) (.*)$/, '$2-$1').replaceAll('/', '-').toLowerCase()}.json`

/** The schema in a definition of a kind, closed. */
function closedDefinition(schema: Json): Json {
  const { properties, items, ...rest } = schema as { properties?: Readonly<Record<string, Json>>; items?: Json }
  return {
    ...rest, ...(items === undefined ? {} : { items: closedDefinition(items) }),
    ...(properties === undefined ? {} : { additionalProperties: rest['x-kubernetes-preserve-unknown-fields' as never] ?? false, properties: Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, closedDefinition(each)])) }),
  }
}

describe('the objects of the chart', () => {
  let server: ApiServer
  let folder = ''
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'muster-schemas-'))
    for (const { spec } of FOREIGN_DEFINITIONS as unknown as readonly { spec: { group: string; names: { kind: string }; versions: readonly { name: string; schema: { openAPIV3Schema: Json } }[] } }[]) {
      const [version] = spec.versions
      writeFileSync(join(folder, fileOf(`${spec.group}/${version?.name} ${spec.names.kind}`)), JSON.stringify(closedDefinition(version?.schema.openAPIV3Schema as Json)))
    }
    server = await startApiServer()
  }, 120_000)
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const recorded = (id: string): string => join(FOLDER, fileOf(id))
  const live = async (id: string): Promise<string> => {
    const [apiVersion = '', kind = ''] = id.split(' ')
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') as [string, string] : ['', apiVersion]
    const { body } = await server.request('GET', `/openapi/v3/${group === '' ? `api/${version}` : `apis/${group}/${version}`}`)
    return `${JSON.stringify(schemaOf(body as never, group, version, kind))}\n`
  }

  it.each(ownKinds)('have the recorded schema that a real API server has: %s', async (id) => {
    const now = await live(id)
    if (UPDATE) {
      mkdirSync(FOLDER, { recursive: true })
      writeFileSync(recorded(id), now)
    }
    expect(existsSync(recorded(id)) && readFileSync(recorded(id), 'utf8') === now).toBe(true)
  })

  const conform = (objects: string): { readonly status: number | null; readonly stdout: string } => {
    const file = join(folder, 'objects.yaml')
    writeFileSync(file, objects)
    const places = [FOLDER, folder].flatMap((each) => ['-schema-location', join(each, '{{ .ResourceKind }}{{ .KindSuffix }}.json'), '-schema-location', join(each, '{{ .ResourceKind }}-{{ .Group }}-{{ .ResourceAPIVersion }}.json')])
    return run('kubeconform', ['-strict', '-summary', ...places, file])
  }

  it.each(Object.entries(SCENARIOS))('fit closed schemas: %s', (_, values) => {
    const { status, stdout } = conform(template(values).stdout)
    expect(stdout).toContain('Invalid: 0, Errors: 0, Skipped: 0')
    expect(status).toBe(0)
  })

  it('would not fit with a misspelt field', () => {
    const objects = render(SCENARIOS['everything'] as Json)
    const broken = (change: (text: string) => string): number | null => conform(objects.map((each: KubeObject) => change(JSON.stringify(each))).join('\n---\n')).status
    expect(broken((text) => text)).toBe(0)
    for (const [from, to] of [['"serviceName"', '"servicename"'], ['"endpoints"', '"endpoint"'], ['"automountServiceAccountToken"', '"automountToken"'], ['"pathType"', '"pathtype"'], ['"alert"', '"alarm"']] as const) {
      expect([from, broken((text) => text.replaceAll(from, to))]).toEqual([from, 1])
    }
  })

  it('come from a chart whose samples fit its own kind', () => {
    expect(readFileSync(join(CHART, 'files/fleetworkers.muster.dev.yaml'), 'utf8')).toBe(readFileSync('crds/fleetworkers.muster.dev.yaml', 'utf8'))
  })
})
