/**
 * Tests a change of the admin token while the operator runs: first the master's file changes, some seconds later the
 * operator's.
 */
import { it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_TOKEN } from '../e2e/fleet.ts'
import { Cluster } from './cluster.ts'
import { withApiServer } from './with-programs.ts'

const NEW_TOKEN = 'the-admin-token-after-the-rotation'
/** The master and the operator read their files every 2 s, and a rejected operator retries after at most 15 s. */
const FILES_APART_MS = 5_000

withApiServer('a rotated admin token', () => {
  it('is used by a running operator, and an edit that waited is applied', async () => {
    const cluster = await Cluster.start('cluster-wide')
    try {
      const files = {
        master: join(cluster.fleet.directory, 'admin-token'),
        operator: join(cluster.fleet.directory, 'api-token'),
      }
      for (const file of Object.values(files)) writeFileSync(file, ADMIN_TOKEN)
      await cluster.fleet.stopMaster()
      await cluster.fleet.startMaster({ SVC_ADMIN_TOKEN_FILE: files.master }, ['SVC_ADMIN_TOKEN'])
      await cluster.startOperator({ SVC_API_TOKEN: '', SVC_API_TOKEN_FILE: files.operator })
      await cluster.startWorker('w')
      const config = { enabled: true, interval_seconds: 60, targets: [{ name: 'self', url: 'http://127.0.0.1:1/' }] }
      await cluster.apply('w', { config })
      await cluster.kubectl('wait', '-n', 'team-a', 'fleetworker/w', '--for=condition=Ready', '--timeout=60s')

      writeFileSync(files.master, NEW_TOKEN)
      const seconds = async (): Promise<number | undefined> => {
        const path = '/api/v1/automations/http-probe/workers/w'
        const response = await fetch(`${cluster.fleet.url}${path}`, {
          headers: { authorization: `Bearer ${NEW_TOKEN}` },
        })
        return response.status === 200
          ? ((await response.json()) as { config: { interval_seconds: number } }).config.interval_seconds
          : undefined
      }
      await cluster.until('the master accepts the new token', async () => (await seconds()) === 60)
      await cluster.apply('w', { config: { ...config, interval_seconds: 30 } })
      await new Promise((resolve) => setTimeout(resolve, FILES_APART_MS))
      writeFileSync(files.operator, NEW_TOKEN)
      await cluster.until('the edit is applied', async () => (await seconds()) === 30)
      await cluster.kubectl('wait', '-n', 'team-a', 'fleetworker/w', '--for=condition=Ready', '--timeout=60s')
    } finally {
      await cluster.close()
    }
  }, 240_000)
})
