/** Tests `muster rollout` against an API server: what it shows of a status, what it writes, and what it refuses. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownersOf } from '../../../src/cmd/admin/rollout/owners.ts'
import type { SetObject } from '../../../src/cmd/admin/rollout/set-object.ts'
import { CONTROLLER_REVISIONS, FLEET_WORKER_SETS, kubeconfigOf } from '../../operator/fake-fleet.ts'
import { FakeApiServer } from '../../operator/fake-apiserver.ts'
import { eventually } from '../../kit/index.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'
import { cells, lines, muster, type Ran, type Terminal } from './fixture.ts'

const [CURRENT, UPDATE] = ['7f3ac1d09b2e', '91bc02f7a1c4']
const SET = { kind: FLEET_WORKER_SETS, namespace: 'prod', name: 'crawlers' }
const ready = (reason: string, status = 'False', message = 'as the operator says') => ({
  type: 'Ready',
  status,
  reason,
  message,
})
const STALLED = { type: 'Stalled', status: 'True', reason: 'x', message: 'x' }
const WORKERS = { matched: 240, updated: 24, pending: 213, acknowledged: 24, unavailable: 1, absent: 3 }
const BAKING = {
  revision: UPDATE,
  attempt: 1,
  stage: 2,
  stages: 3,
  limit: 24,
  phase: 'Baking',
  since: '2026-11-28T02:51:00Z',
  epoch: 'e',
  gates: [
    {
      name: 'failureRate',
      verdict: 'Failed',
      updated: '31.0 %',
      current: '2.1 %',
      allowed: '+2.0 points',
      runs: 412,
    },
  ],
}
const FAILURE = {
  revision: UPDATE,
  attempts: 1,
  time: '2026-11-28T02:58:40Z',
  stage: 2,
  gate: 'failureRate',
  message: '31.0 % of 412 runs failed',
}

let fake: FakeApiServer
let before: string | undefined

beforeEach(async () => {
  fake = await new FakeApiServer([FLEET_WORKER_SETS, CONTROLLER_REVISIONS]).start()
  const file = join(temporaryFolder(), 'kubeconfig')
  writeFileSync(file, kubeconfigOf(fake.url, 'prod'))
  before = process.env['KUBECONFIG']
  process.env['KUBECONFIG'] = file
})
afterEach(async () => {
  if (before === undefined) delete process.env['KUBECONFIG']
  else process.env['KUBECONFIG'] = before
  await fake.close()
})

const run = (words: string, terminal?: Terminal): Promise<Ran> => muster('', `rollout ${words}`, terminal)

/** Creates the set, with a status about its present generation. */
function declare(status: object, spec: object = { config: { depth: 3 } }): void {
  fake.store.create(
    { kind: FLEET_WORKER_SETS, namespace: 'prod' },
    { metadata: { name: 'crawlers' }, spec: { type: 'crawler', selector: { idPatterns: ['*'] }, ...spec } },
    'kubectl',
  )
  report({ observedGeneration: 1, currentRevision: CURRENT, updateRevision: UPDATE, workers: WORKERS, ...status })
}

const report = (status: object): void =>
  void fake.store.patch(SET, 'status', 'application/merge-patch+json', { status }, 'muster-operator', false)

const stored = () => fake.store.get(SET)
const acts = (): unknown => stored().metadata['annotations']

function remember(revision: string, number: number, data: object): void {
  const { uid } = stored().metadata
  fake.store.create(
    { kind: CONTROLLER_REVISIONS, namespace: 'prod' },
    {
      metadata: {
        name: `crawlers-${revision}`,
        labels: { 'muster.dev/set-uid': uid, 'muster.dev/revision': revision },
        ownerReferences: [
          { apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorkerSet', name: 'c', uid, controller: true },
        ],
      },
      revision: number,
      data,
    },
    'muster-operator',
  )
}

describe('muster rollout status', () => {
  it('shows stage, workers, gates and problems, and the next command', async () => {
    declare({
      conditions: [ready('RollingBack', 'False', '24 workers return')],
      rollout: { ...BAKING, phase: 'RollingBack' },
      failed: [FAILURE],
      worst: [{ worker: 'muster-crawler-17', reason: 'WorkerError', message: 'depth must be\u001b[2J at most 5' }],
    })
    const { code, out, err } = await run('status crawlers')
    expect([code, err]).toEqual([0, ''])
    expect(lines(out)).toEqual([
      `prod/crawlers: ${UPDATE} replaces ${CURRENT}  RollingBack`,
      '  Stage    2 of 3, RollingBack since 2026-11-28T02:51:00Z, at most 24 updated workers',
      '  Workers  24 of 237 updated, 24 acknowledged, 1 unavailable, 3 absent',
      '  GATE         UPDATED  CURRENT  ALLOWED      RUNS  VERDICT',
      '  failureRate  31.0 %   2.1 %    +2.0 points  412   Failed',
      '  Problem  muster-crawler-17 WorkerError: depth must be [2J at most 5',
      `  Failed   ${UPDATE} in stage 2 by failureRate at 2026-11-28T02:58:40Z: 31.0 % of 412 runs failed`,
      '  Now      24 workers return',
    ])
  })

  it.each<[string, number, object, string | undefined]>([
    ['Complete', 0, { conditions: [ready('Complete', 'True')] }, undefined],
    ['NoWorkers', 0, { conditions: [ready('NoWorkers', 'True')] }, undefined],
    ['Suspended', 0, { conditions: [ready('Suspended', 'True')] }, undefined],
    ['Unavailable', 0, { conditions: [ready('Unavailable')] }, undefined],
    ['RollingOut', 0, { conditions: [ready('RollingOut')], rollout: BAKING }, 'muster rollout abort -n prod crawlers'],
    [
      'WaitingForApproval',
      0,
      { conditions: [ready('WaitingForApproval')], rollout: { ...BAKING, phase: 'WaitingForApproval' } },
      'muster rollout promote -n prod crawlers',
    ],
    ['Paused', 0, { conditions: [ready('Paused')], rollout: BAKING }, 'muster rollout resume -n prod crawlers'],
    [
      'Inconclusive',
      1,
      { conditions: [ready('Inconclusive'), STALLED], rollout: { ...BAKING, phase: 'Inconclusive' } },
      'muster rollout promote -n prod crawlers',
    ],
    [
      'RolledBack',
      1,
      { conditions: [ready('RolledBack'), STALLED], rollout: { ...BAKING, phase: 'RolledBack' }, failed: [FAILURE] },
      'muster rollout retry -n prod crawlers',
    ],
    [
      'Rejected',
      1,
      { conditions: [ready('Rejected'), STALLED], failed: [{ revision: UPDATE, message: '/depth: at most 5' }] },
      'muster rollout undo -n prod crawlers',
    ],
  ])('exits for %s with %i', async (reason, code, status, next) => {
    declare(status)
    const ran = await run('status crawlers')
    expect([ran.code, ran.err]).toEqual([code, ''])
    expect(lines(ran.out)[0]).toContain(reason)
    const last = lines(ran.out).find((line) => line.startsWith('  Next'))
    if (next === undefined) expect(last).toBeUndefined()
    else expect(last).toContain(next)
  })

  it('does not take the status of an older spec for that of the present one', async () => {
    declare({ observedGeneration: 0, conditions: [ready('Complete', 'True')] })
    expect((await run('status crawlers')).out).toContain('the operator has not seen the last edit yet')
    expect(await run('status crawlers --watch --timeout 1')).toMatchObject({ code: 6 })
  })

  it('with --watch waits for the end, also while the API server is unavailable, and shows changes', async () => {
    declare({ conditions: [ready('RollingOut', 'False', '24 of 240')], rollout: BAKING })
    const ran = run('status crawlers --watch --timeout 60')
    await eventually('it reads the set', async () => fake.seen('GET').length > 0)
    fake.script({ method: 'GET' }, { kind: 'refuse', status: 503 })
    report({ conditions: [ready('RollingOut', 'False', '120 of 240')] })
    const read = fake.seen('GET').length
    await eventually('it reads the set again', async () => fake.seen('GET').length >= read + 3)
    report({ conditions: [ready('Complete', 'True', 'all of 240')], rollout: null, currentRevision: UPDATE })
    const { code, out, err } = await ran
    expect(code).toBe(0)
    expect(err).toContain('RollingOut: 120 of 240')
    expect(lines(out)).toEqual([expect.stringContaining(`${UPDATE}  Complete`), expect.any(String), expect.any(String)])
  })

  it('with --watch exits with 1 if the rollout fails, and with 6 if the time is over', async () => {
    declare({ conditions: [ready('RollingOut')], rollout: { ...BAKING, phase: 'WaitingForApproval' } })
    const late = await run('status crawlers --watch --timeout 1')
    expect(late.code).toBe(6)
    expect(late.err).toContain('next:  muster rollout promote -n prod crawlers')
    report({ conditions: [ready('RolledBack'), STALLED], rollout: { ...BAKING, phase: 'RolledBack' } })
    expect((await run('status crawlers --watch')).code).toBe(1)
  })

  it('prints the object with -o json', async () => {
    declare({ conditions: [ready('Complete', 'True')] })
    expect(JSON.parse((await run('status crawlers -o json')).out)).toMatchObject({
      kind: 'FleetWorkerSet',
      spec: { type: 'crawler' },
    })
  })

  it('explains what the API server refuses, by exit code', async () => {
    expect(await run('status ghost -n other')).toMatchObject({ code: 3, out: '' })
    fake.script({}, { kind: 'refuse', status: 403 })
    const forbidden = await run('status crawlers')
    expect(forbidden.code).toBe(4)
    expect(lines(forbidden.err)).toEqual([
      'error: muster rollout status crawlers failed (403)',
      'cause: as scripted',
      'next:  ask for the right that the cause names, or use another kubeconfig',
    ])
    process.env['KUBECONFIG'] = join(temporaryFolder(), 'nowhere')
    expect(await run('status crawlers')).toMatchObject({ code: 2, err: expect.stringContaining('KUBECONFIG') })
  })
})

describe('muster rollout pause and resume', () => {
  it('set spec.paused, once', async () => {
    declare({ conditions: [ready('RollingOut')], rollout: BAKING })
    expect(await run('pause crawlers')).toMatchObject({ code: 0, err: 'rollouts of prod/crawlers are paused\n' })
    expect(stored().spec).toMatchObject({ paused: true, type: 'crawler', config: { depth: 3 } })
    const writes = fake.seen('PATCH').length
    expect(await run('pause crawlers')).toMatchObject({ code: 0, err: expect.stringContaining('already') })
    expect(fake.seen('PATCH')).toHaveLength(writes)
    expect(JSON.parse((await run('resume crawlers -o json')).out)).toMatchObject({ spec: { paused: false } })
  })
})

describe('muster rollout promote, abort and retry', () => {
  it('name the revision and the stage or attempt', async () => {
    declare({ conditions: [ready('WaitingForApproval')], rollout: { ...BAKING, phase: 'WaitingForApproval' } })
    expect((await run('promote crawlers')).code).toBe(0)
    expect(acts()).toEqual({ 'muster.dev/promote': `${UPDATE}/2` })
    await run('promote crawlers --stage 3')
    expect(acts()).toEqual({ 'muster.dev/promote': `${UPDATE}/3` })
    await run('promote crawlers --all')
    expect(acts()).toEqual({ 'muster.dev/promote': `${UPDATE}/all` })
    await run('abort crawlers')
    expect(acts()).toMatchObject({ 'muster.dev/abort': `${UPDATE}/1` })
    report({ rollout: { ...BAKING, attempt: 2, phase: 'RolledBack' }, failed: [{ ...FAILURE, attempts: 2 }] })
    await run('retry crawlers')
    expect(acts()).toMatchObject({ 'muster.dev/retry': `${UPDATE}/3` })
  })

  it('also act on a rollout that has failed and left the workers as they are', async () => {
    declare({ conditions: [ready('GateFailed'), STALLED], rollout: { ...BAKING, phase: 'Failed' }, failed: [FAILURE] })
    expect((await run('status crawlers')).out).toContain('muster rollout abort -n prod crawlers returns the workers')
    await run('abort crawlers')
    await run('promote crawlers --all')
    await run('retry crawlers')
    expect(acts()).toEqual({
      'muster.dev/abort': `${UPDATE}/1`,
      'muster.dev/promote': `${UPDATE}/all`,
      'muster.dev/retry': `${UPDATE}/2`,
    })
  })

  it.each<[string, object, string, string]>([
    ['promote', { rollout: null }, 'no rollout with stages is under way', 'muster rollout status -n prod crawlers'],
    ['promote', { rollout: BAKING }, 'its phase is Baking', '--stage 2 promotes it in advance'],
    ['promote --stage 1', { rollout: BAKING }, 'stage 1 has passed already', 'muster rollout status'],
    ['promote --stage 4', { rollout: BAKING }, 'stage 4 is not one of 3', 'muster rollout status'],
    ['promote', { rollout: { ...BAKING, phase: 'Failed' } }, 'has failed', 'muster rollout retry -n prod crawlers'],
    ['abort', { rollout: { ...BAKING, phase: 'RolledBack' } }, 'has failed already', 'muster rollout status'],
    ['retry', { rollout: null }, 'its revision has not failed', 'muster rollout status'],
    [
      'retry',
      { rollout: { ...BAKING, attempt: 2 }, failed: [FAILURE] },
      'its attempt 2 is under way',
      'muster rollout status',
    ],
    [
      'abort',
      { rollout: { ...BAKING, phase: 'Failed' }, currentRevision: null },
      'no earlier revision is known',
      'muster rollout status',
    ],
    ['promote --all', { rollout: { ...BAKING, phase: 'RolledBack' } }, 'has failed', 'muster rollout retry'],
    [
      'retry',
      { rollout: null, failed: [{ revision: UPDATE, message: '/depth' }] },
      'refuses the config',
      'correct the config',
    ],
  ])('refuse without an effect: %s', async (words, status, cause, next) => {
    declare({ conditions: [ready('RollingOut')], ...status })
    const ran = await run(`${words.replace(' ', ' crawlers ')}${words.includes(' ') ? '' : ' crawlers'}`)
    expect([ran.code, ran.out]).toEqual([1, ''])
    expect(ran.err).toContain(cause)
    expect(ran.err).toContain(next)
    expect(acts()).toBeUndefined()
  })

  it('refuse while the status is about an older spec', async () => {
    declare({ observedGeneration: 0, rollout: { ...BAKING, phase: 'WaitingForApproval' } })
    for (const verb of ['promote', 'abort', 'retry'])
      expect(await run(`${verb} crawlers`)).toMatchObject({ code: 5, err: expect.stringContaining('another revision') })
    expect(acts()).toBeUndefined()
  })
})

describe('the owners of a field', () => {
  const manifest = JSON.stringify({ spec: { config: {} } })
  const object = (fields: object, annotations = {}): SetObject => ({
    metadata: {
      name: 'crawlers',
      uid: 'u',
      resourceVersion: '1',
      annotations,
      managedFields: [{ fieldsV1: { 'f:spec': { 'f:config': { 'f:depth': {} }, 'f:paused': {} } }, ...fields }],
    },
    spec: { type: 'crawler' },
  })

  it.each<[string, object, string | undefined]>([
    ['argocd-controller', { operation: 'Apply' }, 'gitops'],
    ['argocd-application-controller', { operation: 'Update' }, 'gitops'],
    ['kustomize-controller', { operation: 'Apply' }, 'gitops'],
    ['helm-controller', { operation: 'Apply' }, 'gitops'],
    ['helm', { operation: 'Update' }, 'declarative'],
    ['kubectl', { operation: 'Apply' }, 'declarative'],
    ['Terraform', { operation: 'Apply' }, 'declarative'],
    ['kubectl-edit', { operation: 'Update' }, undefined],
    ['muster-rollout', { operation: 'Apply' }, undefined],
    ['argocd-controller', { operation: 'Update', subresource: 'status' }, undefined],
    ['argocd-controller', { operation: 'Apply', fieldsV1: { 'f:spec': { 'f:slots': {} } } }, undefined],
  ])('include %s with %j: %s', (manager, fields, kind) => {
    const found = ownersOf(object({ manager, ...fields }), 'config')
    expect(found).toEqual(kind === undefined ? [] : [{ manager, kind }])
  })

  it('do not include a manager for a field that the API server filled in', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': manifest }
    for (const manager of ['kubectl-client-side-apply', 'argocd-controller']) {
      const applied = object({ manager, operation: 'Update' }, annotations)
      expect(ownersOf(applied, 'config')).toHaveLength(1)
      expect(ownersOf(applied, 'paused')).toEqual([])
    }
  })
})

describe('muster rollout history and undo', () => {
  const secret = { field: 'token', secretKeyRef: { name: 's', key: 'k' } }

  it('lists revisions, newest first, with the fields that each changed', async () => {
    declare({ currentRevision: CURRENT, updateRevision: UPDATE, failed: [FAILURE] })
    remember('aaaaaaaaaaaa', 1, { config: { depth: 1 } })
    remember(CURRENT, 2, { config: { depth: 2, url: 'x' }, configFrom: [secret] })
    remember(UPDATE, 3, { config: { depth: 2, url: 'x' }, configFrom: [secret] })
    const { out } = await run('history crawlers')
    expect(cells(out).map((row) => row.toSpliced(2, 1))).toEqual([
      ['NUMBER', 'REVISION', 'STATE', 'CHANGED FIELDS'],
      ['3', UPDATE, 'update, failed', 'value of a Secret or ConfigMap'],
      ['2', CURRENT, 'current', 'depth, token, url'],
      ['1', 'aaaaaaaaaaaa', '-', '-'],
    ])
    expect(JSON.parse((await run('history crawlers -o json')).out)).toHaveLength(3)
  })

  it('writes the config of the current revision during a rollout, and of the one before after it', async () => {
    declare(
      { conditions: [ready('RollingOut')], rollout: BAKING },
      { config: { depth: 3, url: 'y' }, configFrom: [secret] },
    )
    remember('aaaaaaaaaaaa', 1, { config: { depth: 1 }, configFrom: [secret] })
    remember(CURRENT, 2, { config: { depth: 2 }, configFrom: [] })
    remember(UPDATE, 3, { config: { depth: 3, url: 'y' }, configFrom: [secret] })
    expect(await run('undo crawlers')).toMatchObject({ code: 0, err: expect.stringContaining(CURRENT) })
    expect(stored().spec).toEqual({ type: 'crawler', selector: { idPatterns: ['*'] }, config: { depth: 2 } })
    report({ observedGeneration: 2, currentRevision: CURRENT, updateRevision: CURRENT })
    await run('undo crawlers')
    expect(stored().spec).toMatchObject({ config: { depth: 3, url: 'y' }, configFrom: [secret] })
    report({ failed: [FAILURE] })
    await run('undo crawlers')
    expect(stored().spec).toMatchObject({ config: { depth: 1 } })
    for (const [to, depth] of [
      ['2', 2],
      ['aaaaaaaaaaaa', 1],
    ] as const) {
      await run(`undo crawlers --to ${to}`)
      expect(stored().spec).toMatchObject({ config: { depth } })
    }
  })

  it('refuses what the history does not have, what changes nothing, and a set that changed meanwhile', async () => {
    declare({ currentRevision: UPDATE, updateRevision: UPDATE })
    expect(await run('undo crawlers')).toMatchObject({ code: 3, err: expect.stringContaining('its history is empty') })
    remember(CURRENT, 1, { config: { depth: 2 } })
    remember(UPDATE, 2, { config: { depth: 3 } })
    expect(await run('undo crawlers --to 7')).toMatchObject({ code: 3, err: expect.stringContaining(CURRENT) })
    expect(await run(`undo crawlers --to ${UPDATE}`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing to'),
    })
    const stale = fake.store.version
    fake.store.patch(SET, '', 'application/merge-patch+json', { spec: { slots: 4 } }, 'kubectl', false)
    fake.script({ method: 'GET', path: /crawlers$/ }, { kind: 'stale', version: stale })
    expect(await run('undo crawlers')).toMatchObject({ code: 1, err: expect.stringContaining('changed meanwhile') })
    expect(stored().spec).toMatchObject({ config: { depth: 3 }, slots: 4 })
  })
})
