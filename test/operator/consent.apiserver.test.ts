/**
 * Tests that the author of a FleetWorker cannot obtain Secrets of the operator's namespace through configFrom. A real
 * API server logs the requests in its audit log, and the config of a real worker shows what the author would obtain.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ADMIN_TOKEN, WORKER_TOKEN } from '../e2e/fleet.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const SECRETS = '/api/v1/namespaces/muster/secrets'
const TEST_MS = 120_000
const TEAM_SECRET = 'Bearer of-the-team'

withApiServer('configFrom', () => {
  let cluster: Cluster

  beforeAll(async () => {
    cluster = await Cluster.start('namespaced', { auditedObjects: ['secrets'] })
    await cluster.ok('POST', SECRETS, {
      metadata: { name: 'muster-tokens' },
      stringData: { 'admin-token': ADMIN_TOKEN },
    })
    await cluster.ok('POST', SECRETS, { metadata: { name: 'team' }, stringData: { token: TEAM_SECRET } })
    // The process rejects it even if its permissions do not.
    await cluster.allowSecrets('muster', 'team', 'muster-tokens')
    await cluster.startOperator({ SVC_WATCH_NAMESPACES: 'muster', SVC_RESERVED_SECRETS: 'muster-tokens,muster-redis' })
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  const authored = async (id: string, name: string, key: string): Promise<void> => {
    const config = { enabled: true, interval_seconds: 60, targets: [{ name: 'mine', url: 'http://127.0.0.1:1/' }] }
    await cluster.startWorker(id)
    await cluster.apply(id, { config, configFrom: [{ field: 'authorization', secretKeyRef: { name, key } }] }, 'muster')
  }
  const requestsOf = (name: string) =>
    cluster.audit().filter(({ objectRef }) => objectRef?.resource === 'secrets' && objectRef.name === name)
  /** The config with secrets, as the worker reads it. */
  const configOf = async (id: string): Promise<string> =>
    (
      await fetch(`${cluster.fleet.url}/api/v1/automations/http-probe/workers/${id}/config`, {
        headers: { authorization: `Bearer ${WORKER_TOKEN}` },
      })
    ).text()
  const messageOf = async (id: string): Promise<string> =>
    (await cluster.resource(id, 'muster'))?.status?.conditions?.find(({ type }) => type === 'Synced')?.message ?? ''

  describe('configFrom', () => {
    it(
      'never requests a Secret that the operator itself uses, with or without the annotation',
      async () => {
        await authored('thief', 'muster-tokens', 'admin-token')
        await cluster.condition('thief', 'Synced=SourceForbidden', TEST_MS, 'muster')
        await cluster.kubectl('annotate', 'secret', 'muster-tokens', '-n', 'muster', 'muster.dev/config-for=*')
        await cluster.kubectl('annotate', 'fwk', 'thief', '-n', 'muster', 'muster.dev/reconcile=again')
        await new Promise((resolve) => setTimeout(resolve, 7_000)) // Longer than the poll interval for missing sources.
        await cluster.condition('thief', 'Synced=SourceForbidden', TEST_MS, 'muster')
        expect(await messageOf('thief')).toContain('credentials of Muster itself')
        expect(requestsOf('muster-tokens')).toEqual([])
        expect(await configOf('thief')).not.toContain(ADMIN_TOKEN)
      },
      TEST_MS,
    )

    it(
      'receives no data of a Secret without the consent of its owner, and reads it after the command of the condition',
      async () => {
        await authored('reader', 'team', 'token')
        await cluster.condition('reader', 'Synced=SourceForbidden', TEST_MS, 'muster')
        expect(requestsOf('team').map(({ responseObject }) => responseObject?.kind)).not.toContain('Secret')
        expect(requestsOf('team').filter(({ responseObject }) => responseObject?.data !== undefined)).toEqual([])
        expect(await configOf('reader')).not.toContain(TEAM_SECRET)
        const command = /kubectl (annotate .*)$/.exec(await messageOf('reader'))?.[1] ?? ''
        await cluster.kubectl(...command.split(' '))
        await cluster.condition('reader', 'Ready=True', TEST_MS, 'muster')
        expect(await configOf('reader')).toContain(TEAM_SECRET)
        expect(requestsOf('team').some(({ responseObject }) => responseObject?.data !== undefined)).toBe(true)
      },
      TEST_MS,
    )
  })
})
