/** `muster migrate` (D249): on text, on files, and against the definitions of the kinds on a real API server. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { startApiServer, type ApiServer, type CustomResourceDefinition } from '../../operator/real-apiserver.ts'
import { withApiServer } from '../../operator/with-programs.ts'
import { muster } from './fixture.ts'

const NO_MASTER = 'http://127.0.0.1:1'
const OLD = `# The workers of team a.
apiVersion: muster.dev/v1alpha1
kind: FleetWorker
metadata: {name: m-1}   # one
spec:
  type: mailer
  workerId:   "m-1" # its id
  drain: true       # until Monday
  config: {as: kept, drain: true, workerId: kept}
  configFrom:
  - {field: limits, as: JSON, configMapKeyRef: {name: m, key: as}}
  - as: String
    # A comment.
    field: token
    secretKeyRef: {name: s, key: drain}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {workerId: kept, drain: "true"}
---
apiVersion: muster.dev/v1beta1
kind: FleetWorkerSet
metadata: {name: many}
spec:
  type: mailer
  configFrom: [{'field': limits, 'as': JSON, configMapKeyRef: {name: m, key: k}}]
`
const NEW = OLD.replace('workerId:   "m-1"', 'workerID:   "m-1"')
  .replace('drain: true       # until', 'desiredState: Drained       # until')
  .replace('as: JSON, configMapKeyRef: {name: m, key: as}', 'format: JSON, configMapKeyRef: {name: m, key: as}')
  .replace('- as: String', '- format: String')
  .replace("'as': JSON", "'format': JSON")
const fleetWorker = (spec: object, name = 'w'): string =>
  JSON.stringify({ apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorker', metadata: { name }, spec })

const piped = (stdin: string, ...words: readonly string[]) =>
  muster(NO_MASTER, ['migrate', '-f', '-', ...words], { stdin })

describe('muster migrate -f -', () => {
  it('replaces names, and keeps comments, layout, configs and other kinds', async () => {
    expect(await piped(OLD)).toMatchObject({ code: 0, out: NEW, err: '' })
  })

  it('changes nothing that has the new names', async () => {
    expect(await piped(NEW)).toMatchObject({ code: 0, out: NEW })
  })

  it.each([
    [{ drain: false }, { desiredState: 'Running' }],
    [
      { workerId: 'a', drain: true },
      { workerID: 'a', desiredState: 'Drained' },
    ],
    [{ configFrom: [{ field: 'a', as: 'JSON' }] }, { configFrom: [{ field: 'a', format: 'JSON' }] }],
    [
      { configFrom: [{ field: 'a', as: 'String', format: 'JSON' }] },
      { configFrom: [{ field: 'a', as: 'String', format: 'JSON' }] },
    ],
  ])('rewrites JSON, alone and in a list (%j)', async (before, after) => {
    expect((await piped(fleetWorker(before))).out).toBe(fleetWorker(after))
    const list = (item: string): string => `{"apiVersion": "v1", "kind": "List", "items": [${item}]}\n`
    expect((await piped(list(fleetWorker(before)))).out).toBe(list(fleetWorker(after)))
  })

  it('rewrites the text behind an alias once', async () => {
    const shared = (name: string): string =>
      `items:\n- apiVersion: muster.dev/v1\n  kind: FleetWorker\n  spec: &s {${name}: a}\n` +
      '- apiVersion: muster.dev/v1\n  kind: FleetWorker\n  spec: *s\n'
    expect((await piped(shared('workerId'))).out).toBe(shared('workerID'))
  })

  it.each([
    [fleetWorker({ workerId: 'a', workerID: 'a' }), 'line 1: workerId stands beside workerID; remove one of the two'],
    [fleetWorker({ drain: 'yes' }), 'line 1: drain is neither true nor false; write desiredState by hand'],
    ['a: {{ .Values.a }}\n  b: muster.dev/\n', 'is not YAML'],
  ])('prints nothing if a part has to be changed by hand (%s)', async (before, why) => {
    const { code, out, err } = await piped(before)
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(why)])
  })

  it('lists the lines with --dry-run', async () => {
    expect((await piped(OLD, '--dry-run')).out.split('\n').slice(0, 3)).toEqual([
      'line 7: workerId is now workerID',
      'line 8: drain is now desiredState',
      'line 11: as is now format',
    ])
  })
})

describe('muster migrate -f DIR', () => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-migrate-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const run = (...words: readonly string[]) => muster(NO_MASTER, ['migrate', ...words])

  it('rewrites the manifests of a folder, and leaves files that are not its own', async () => {
    const root = join(folder, 'git')
    const file = (name: string): string => join(root, name)
    for (const each of ['', 'deep', '.git', 'chart']) mkdirSync(file(each), { recursive: true })
    const outside = join(folder, 'outside.yaml')
    for (const path of [file('a.yaml'), file('deep/b.yml'), file('.git/c.yaml'), file('notes.md'), outside])
      writeFileSync(path, OLD)
    chmodSync(file('a.yaml'), 0o640)
    writeFileSync(file('chart/t.yaml'), 'a: {{ .Values.a }}: b\n')
    symlinkSync(outside, file('link.yaml'))
    const planned = await run('-f', root, '--dry-run')
    expect([planned.code, readFileSync(file('a.yaml'), 'utf8')]).toEqual([0, OLD])
    const { code, out } = await run('-f', root)
    expect([code, out]).toEqual([0, planned.out])
    expect(out).toContain(`${file('a.yaml')}: line 7: workerId is now workerID\n`)
    for (const name of ['a.yaml', 'deep/b.yml']) expect(readFileSync(file(name), 'utf8')).toBe(NEW)
    for (const path of [file('.git/c.yaml'), file('notes.md'), outside]) expect(readFileSync(path, 'utf8')).toBe(OLD)
    expect(statSync(file('a.yaml')).mode & 0o777).toBe(0o640)
    expect(await run('-f', root)).toMatchObject({ code: 0, out: '' })
  })

  it('rewrites the other files when one has to be changed by hand, and fails', async () => {
    const root = join(folder, 'mixed')
    mkdirSync(root)
    writeFileSync(join(root, 'a.yaml'), 'apiVersion: muster.dev/v1alpha1\n{{ if .Values.a }}\n')
    writeFileSync(join(root, 'b.yaml'), OLD)
    const { code, err } = await run('-f', root)
    expect([code, err]).toEqual([1, expect.stringContaining(join(root, 'a.yaml'))])
    expect(readFileSync(join(root, 'b.yaml'), 'utf8')).toBe(NEW)
  })

  it('rewrites one file, and reports one that is absent and a missing -f', async () => {
    const file = join(folder, 'one.yaml')
    writeFileSync(file, OLD)
    expect((await run('-f', file)).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(NEW)
    expect(await run('-f', join(folder, 'absent'))).toMatchObject({ code: 2, err: expect.stringContaining('ENOENT') })
    expect(await run()).toMatchObject({ code: 2, err: expect.stringContaining('-f') })
  })
})

withApiServer('muster migrate of a cluster', () => {
  describe('muster migrate of a cluster', () => {
    let server: ApiServer
    beforeAll(async () => {
      server = await startApiServer()
      for (const plural of ['fleetworkers', 'fleetworkersets']) {
        await server.install(parse(readFileSync(`crds/${plural}.muster.dev.yaml`, 'utf8')) as CustomResourceDefinition)
        await server.kubectl('wait', '--for=condition=Established', `crd/${plural}.muster.dev`, '--timeout=30s')
      }
    }, 120_000)
    afterAll(() => server.close())

    it('rewrites what kubectl get prints into what kubectl apply accepts', async () => {
      const source = { field: 'a', as: 'JSON', configMapKeyRef: { name: 'm', key: 'k' } }
      const old = {
        type: 'a',
        workerId: 'm-1',
        drain: true,
        configFrom: [source, { ...source, field: 'b', as: 'String' }],
      }
      expect(await server.apply(JSON.parse(fleetWorker(old)) as object)).toMatchObject({ code: 0 })
      const { stdout } = await server.kubectl('get', 'fleetworkers,fleetworkersets', '-A', '-o', 'yaml')
      const { code, out } = await piped(stdout)
      expect(code).toBe(0)
      expect(await server.apply(parse(out) as object)).toMatchObject({ code: 0 })
      const { body } = await server.request('GET', '/apis/muster.dev/v1alpha1/namespaces/default/fleetworkers/w')
      expect(body['spec']).toMatchObject({
        workerID: 'm-1',
        desiredState: 'Drained',
        configFrom: [
          { field: 'a', format: 'JSON' },
          { field: 'b', format: 'String' },
        ],
      })
      expect(body['spec']).not.toHaveProperty('workerId')
      expect(body['spec']).not.toHaveProperty('drain')
    })
  })
})
