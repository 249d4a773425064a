/**
 * Upgrades from the releases in test/chart/releases to this chart and back, with both Helm versions (R7). Uses a real
 * API server and master. Without a kubelet, the operator of this tree runs locally, with the account, permissions and
 * settings of each step's chart.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { REMOVED } from '../../hack/chart/removed.ts'
import { started } from '../hack/tree.ts'
import { Cluster } from '../operator/cluster.ts'
import { CHART, refusal, type Json, type KubeObject } from './chart.ts'
import { Helm } from './helm.ts'
import { leavesOf, nested, SCHEMA, type Schema } from './random-values.ts'

const FOLDER = resolve('test/chart/releases')
const TEST_MS = 300_000
const SECRETS = ['muster-tokens', 'muster-redis']
/** The values that the page recommends for Secrets that FleetWorkers read. */
const VALUES = { operator: { configFrom: { secretNames: ['probe'] } } }

/** The chart archives of all releases, oldest first. */
const RELEASES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.tgz'))
  .toSorted((a, b) => keyOf(a).localeCompare(keyOf(b), 'en', { numeric: true }))
/** A version without a suffix is newer than the same version with one. */
function keyOf(archive: string): string {
  const version = archive.replace(/^muster-(.*)\.tgz$/, '$1')
  return version.includes('-') ? version : `${version}-z`
}
const ENDS = [...new Set([RELEASES.at(0), RELEASES.at(-1)])].map(String)

interface Env {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } }
}
interface Container {
  readonly env: readonly Env[]
}

/** Resolves a value as a kubelet does. */
const valueOf = ({ value, valueFrom }: Env): string | undefined =>
  valueFrom?.fieldRef?.fieldPath === 'metadata.namespace' ? 'muster' : value

/** Settings that the test provides: the address of its master, and a free port. */
const OWN: ReadonlySet<string> = new Set(['SVC_MASTER_URL', 'SVC_METRICS_LISTEN'])

/** A release on a cluster, and the operator that it would start. */
class Installed {
  readonly #cluster: Cluster
  readonly #stored: readonly KubeObject[]

  constructor(cluster: Cluster, archive: string) {
    this.#cluster = cluster
    this.#stored = parseAllDocuments(
      readFileSync(join(FOLDER, archive.replace('.tgz', '.fleetworkers.yaml')), 'utf8'),
    ).map((document) => document.toJS() as KubeObject)
  }

  /** The settings of the operator's pod, except the master's address and mounted files. */
  async settings(deployment: string): Promise<Readonly<Record<string, string>>> {
    const { spec } = JSON.parse(
      await this.#cluster.kubectl('get', 'deployment', deployment, '--namespace=muster', '-o', 'json'),
    ) as { spec: { template: { spec: { containers: readonly Container[] } } } }
    const env = spec.template.spec.containers.flatMap((each) => each.env)
    return Object.fromEntries(
      env.flatMap((each) => {
        const { name } = each
        const value = valueOf(each)
        return value === undefined || !name.startsWith('SVC_') || OWN.has(name) || name.endsWith('_FILE')
          ? []
          : [[name, value]]
      }),
    )
  }

  async store(): Promise<void> {
    await this.#cluster.kubectl('wait', '--for=condition=Established', '--timeout=30s', 'crd/fleetworkers.muster.dev')
    await this.#cluster.ok('POST', '/api/v1/namespaces/muster/secrets', {
      metadata: { name: 'probe', annotations: { 'muster.dev/config-for': 'http-probe' } },
      stringData: { token: 'x' },
    })
    await this.apply()
  }

  async apply(): Promise<void> {
    for (const each of this.#stored)
      await this.#cluster.kubectl(
        'apply',
        '--namespace=muster',
        '-f',
        this.#cluster.file(`${each.metadata.name}.json`, each),
      )
  }

  /** Applies a FleetWorkerSet, which only this release has. */
  async applySet(): Promise<void> {
    const set = {
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorkerSet',
      metadata: { name: 'many' },
      spec: { type: 'http-probe', selector: { idPatterns: ['many-*'] }, config: { interval_seconds: 77 } },
    }
    await this.#cluster.kubectl('apply', '--namespace=muster', '-f', this.#cluster.file('many.json', set))
    await this.#cluster.kubectl('wait', '--for=condition=Ready', '--namespace=muster', 'fws/many', '--timeout=60s')
  }

  /** Replaces the pods of the previous step. */
  async startOperator(): Promise<void> {
    await this.#cluster.stopOperator()
    await this.#bootstrap()
    await this.#cluster.startOperator(await this.settings('muster-operator'))
    for (const {
      metadata: { name },
    } of this.#stored)
      await this.#cluster.condition(name, 'Ready=True', 60_000, 'muster')
  }

  /** In older releases, the operator creates the Secrets with its own account. */
  async #bootstrap(): Promise<void> {
    const found = await this.#cluster.server.kubectl('get', 'deployment', 'muster-bootstrap', '--namespace=muster')
    const account = found.code === 0 ? 'muster-bootstrap' : 'muster-operator'
    const names = Object.entries(await this.settings(account)).filter(([name]) => name.startsWith('SVC_BOOTSTRAP_'))
    const settings = {
      ...Object.fromEntries(names),
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      KUBECONFIG: await this.#cluster.writeKubeconfig(undefined, account),
    }
    const process = this.#cluster.fleet.spawn('bootstrap', settings)
    await this.#cluster.until(
      'the Secrets are there',
      async () => (await this.#cluster.server.kubectl('get', 'secret', ...SECRETS, '--namespace=muster')).code === 0,
    )
    process.child.kill('SIGTERM')
    await process.exited
  }

  /** What must not change: generations of objects and configs, and the Secrets created at run time. */
  async kept(): Promise<Json> {
    const generations = await Promise.all(
      this.#stored.map(async ({ metadata: { name }, spec }) => {
        const { workerId = name } = spec as { workerId?: string }
        const config = await this.#cluster.worker(workerId)
        return [
          name,
          (await this.#cluster.resource(name, 'muster'))?.metadata.generation,
          config?.config_gen,
          config?.config,
        ]
      }),
    )
    const secrets = await Promise.all(
      SECRETS.map((name) =>
        this.#cluster.ok<{ data: Json; metadata: { uid: string } }>('GET', `/api/v1/namespaces/muster/secrets/${name}`),
      ),
    )
    return { generations, secrets: secrets.map(({ data, metadata: { uid } }) => ({ data, uid })) }
  }
}

/** The only right that this release misses when it runs with the chart of an older one. */
const SETS_LISTED = /^list \/apis\/muster\.dev\/v1alpha1\/namespaces\/muster\/fleetworkersets\?/

const refusedRequests = (cluster: Cluster): readonly string[] =>
  cluster
    .audit()
    .filter(({ responseStatus }) => responseStatus?.code === 403)
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`)

describe.each(['helm', 'helm3'])('upgrades by %s', (program) => {
  let cluster: Cluster | undefined
  afterEach(async () => {
    await cluster?.close()
  }, 60_000)

  it.each(ENDS)(
    'from %s to this chart and back keep FleetWorkers, configs and tokens (R7)',
    async (archive) => {
      cluster = await Cluster.start()
      const helm = new Helm(program, cluster.server)
      helm.put('install', join(FOLDER, archive), {}, '--create-namespace')
      for (const id of ['plain', 'other', 'many-0']) await cluster.startWorker(id)
      const release = new Installed(cluster, archive)
      await release.store()
      await release.startOperator()

      const refused = (): readonly string[] => refusedRequests(cluster as Cluster)
      const steps: readonly { readonly hasSets: boolean; readonly run: () => unknown }[] = [
        { hasSets: true, run: () => helm.put('upgrade', CHART, VALUES) },
        { hasSets: false, run: () => helm.run('rollback', 'muster', '1', '--namespace', 'muster') },
        { hasSets: true, run: () => helm.put('upgrade', CHART, VALUES) },
      ]
      for (const [index, { hasSets, run }] of steps.entries()) {
        const before = await release.kept()
        run()
        const refusedBefore = refused().length
        await release.startOperator()
        await release.apply()
        expect(await release.kept()).toEqual(before)
        const { config_gen: gen = 0 } = (await cluster.worker('plain')) ?? {}
        await cluster.kubectl(
          'patch',
          'fleetworker',
          'plain',
          '--namespace=muster',
          '--type=merge',
          '-p',
          JSON.stringify({ spec: { config: { interval_seconds: 61 + index } } }),
        )
        await cluster.condition('plain', 'Ready=True', 60_000, 'muster')
        expect(await cluster.worker('plain')).toMatchObject({
          config_gen: gen + 1,
          config: { interval_seconds: 61 + index },
        })
        await release.apply() // Applies the objects of Git again.
        await cluster.condition('plain', 'Ready=True', 60_000, 'muster')
        if (hasSets) await release.applySet()
        expect(await cluster.worker('many-0')).toMatchObject({ config_gen: 1, config: { interval_seconds: 77 } })
        if (hasSets) expect(refused().slice(refusedBefore)).toEqual([])
      }
      expect(refused().filter((each) => !SETS_LISTED.test(each))).toEqual([])
    },
    TEST_MS,
  )
})

describe('keys of the values', () => {
  const schemaIn = (archive: string): Schema =>
    JSON.parse(started('tar', ['-xzOf', join(FOLDER, archive), 'muster/values.schema.json']).stdout) as Schema
  const pathsOf = (schema: Schema): readonly string[] => leavesOf(schema).map(({ path }) => path.join('.'))

  it.each(RELEASES)('of %s still exist, or are listed as removed with their version', (archive) => {
    const now = new Set(pathsOf(SCHEMA))
    const removed = REMOVED.filter(({ since }) => since !== undefined).map(({ path }) => path)
    const isRemoved = (path: string): boolean => removed.some((each) => path === each || path.startsWith(`${each}.`))
    const then = pathsOf(schemaIn(archive))
    expect(then.length).toBeGreaterThan(150)
    expect(then.filter((path) => !now.has(path) && !isRemoved(path))).toEqual([])
  })

  it.each(REMOVED)('that were removed name their replacement: $path', ({ path, use }) => {
    expect(refusal(nested(path.replace('*', 'probe').split('.'), {}))).toContain(`${path.replace('*', 'probe')}: `)
    expect(refusal(nested(path.replace('*', 'probe').split('.'), {}))).toContain(`use ${use}`)
  })
})
