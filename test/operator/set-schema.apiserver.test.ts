/**
 * Tests a FleetWorkerSet whose automation gets another config schema, as with an upgrade of the master, which does not
 * accept the config of the set any more: the set says so, and its workers keep running. Real API server and master.
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Fleet } from '../e2e/fleet.ts'
import { SocketWorker } from '../e2e/socket-worker.ts'
import { applySet } from './apply-set.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const TEST_MS = 240_000
const TYPE = 'job'
const PUBLIC = pathToFileURL(resolve('dist/automation/public.js')).href

interface Record {
  readonly config: { readonly level?: unknown }
  readonly config_gen: number
}

withApiServer('a FleetWorkerSet whose automation changes', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide', {}, new Fleet())
    await restart('Type.String()')
    await cluster.startOperator()
  }, TEST_MS)
  afterAll(() => cluster.close(), 60_000)

  /** Restarts the master with an automation whose field `level` has this schema. */
  const restart = async (level: string): Promise<void> => {
    const module = join(cluster.server.folder, 'automations.mjs')
    const config = `Type.Object({ level: Type.Optional(${level}) })`
    const automation = `{ type: '${TYPE}', payload: Type.Object({}), config: ${config}, async run() {} }`
    writeFileSync(
      module,
      `import { defineBatch, Type } from '${PUBLIC}'\nexport const job = defineBatch(${automation})\n`,
    )
    await cluster.fleet.stopMaster()
    await cluster.fleet.startMaster({ SVC_AUTOMATIONS: module })
  }
  const record = (): Promise<Record> => cluster.fleet.ok('GET', `/automations/${TYPE}/workers/job-0`)
  /** Connects the worker, which runs the config that it has. */
  const connect = async (): Promise<void> => {
    const worker = await SocketWorker.join(cluster.fleet, TYPE, 'job-0')
    worker.state((await record()).config_gen)
  }
  const ready = (path: string): Promise<string> =>
    cluster.kubectl('get', '-n', 'team-a', 'fws/job', '-o', `jsonpath={.status.conditions[?(@.type=="Ready")].${path}}`)
  const becomes = (reason: string): Promise<void> =>
    cluster.until(`the set is ${reason}`, async () => (await ready('reason')) === reason, 90_000)

  it(
    'is Rejected, and its workers keep their config, until the schema accepts it again',
    async () => {
      await SocketWorker.join(cluster.fleet, TYPE, 'job-0')
      await applySet(cluster, 'job', { type: TYPE, config: { level: 'high' }, rollout: { stages: [] } })
      await cluster.until('the worker has the config', async () => (await record()).config.level === 'high')
      await connect()
      await becomes('Complete')
      const before = await record()
      await restart('Type.Integer()')
      await connect()
      await becomes('Rejected')
      expect(await ready('message')).toContain('/level')
      expect(await record()).toMatchObject({ config: { level: 'high' }, config_gen: before.config_gen })
      await restart('Type.String()')
      await connect()
      await becomes('Complete')
      expect((await record()).config_gen).toBe(before.config_gen)
    },
    TEST_MS,
  )
})
