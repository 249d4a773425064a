// Tests what the dashboard offers for a worker that a FleetWorker manages: a patch for Git, which a real API server
// accepts and the operator applies, and an override, which counts as drift. And the card of a rollout of a
// FleetWorkerSet, whose command a person copies.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { it } from '../dashboard/browser/it.ts'
import { look, signedIn } from '../dashboard/browser/watched.ts'
import { applySet } from './apply-set.ts'
import { Cluster } from './cluster.ts'
import { programPath } from './programs.ts'
import { withApiServer } from './with-programs.ts'

withApiServer('the dashboard with an operator', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
    await cluster.startWorker('p-1')
    await cluster.apply('p-1', { config: { enabled: true, interval_seconds: 60 } })
    await cluster.condition('p-1', 'Synced=InSync')
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  /** Runs the line in a shell, with the permissions of a cluster admin. */
  const run = (line: string): Promise<unknown> =>
    promisify(execFile)('sh', ['-c', line], {
      env: {
        PATH: `${dirname(programPath('kubectl') ?? '')}:${process.env['PATH']}`,
        HOME: cluster.server.folder,
        KUBECONFIG: join(cluster.server.folder, 'kubeconfig.json'),
      },
    })

  describe('the dashboard with an operator', () => {
    it('shows a patch that the API server accepts, and updates the worker when it is applied', async () => {
      const { page } = await signedIn(`${cluster.fleet.url}/`, '#/workers/http-probe/p-1?tab=config')
      await page.getByText('Editing is locked').waitFor()
      await page.getByRole('button', { name: 'Edit for Git…' }).click()
      await page.getByLabel('slots', { exact: true }).fill('3')
      await page.getByLabel('interval_seconds').fill('45')
      await page.getByLabel('user_agent').fill('it\'s "muster"; $(reboot)')
      await page.getByRole('button', { name: /^Review/ }).click()
      const line = await page.locator('pre.patch').innerText()
      expect(line).toMatch(/^kubectl -n team-a patch fleetworker p-1 --type merge -p /)
      await run(line)
      await cluster.until('the patch is applied', async () => (await cluster.worker('p-1'))?.config['slots'] === 3)
      expect((await cluster.worker('p-1'))?.config).toMatchObject({
        interval_seconds: 45,
        user_agent: 'it\'s "muster"; $(reboot)',
      })
      await cluster.condition('p-1', 'Synced=InSync')
      await look(page, 'managed-patched')
    })

    it('overrides only after a confirmation, and the operator then reports or reverts the drift', async () => {
      const { page } = await signedIn(`${cluster.fleet.url}/`, '#/workers/http-probe/p-1?tab=config')
      await page.getByRole('button', { name: 'Override here…' }).click()
      await page.getByLabel('interval_seconds').fill('50')
      await page.getByRole('button', { name: /^Review/ }).click()
      expect(await page.getByRole('button', { name: /^Save/ }).isDisabled()).toBe(true)
      await page.getByLabel('I understand that a change made here').check()
      await page.getByRole('button', { name: /^Save/ }).click()
      await page.getByText(/Generation \d+ is saved\./).waitFor()
      await cluster.until(
        'it is reverted',
        async () => (await cluster.worker('p-1'))?.config['interval_seconds'] === 45,
      )
    })

    it('shows a rollout until the copied command approves it, and a failed one until it is reverted', async () => {
      for (const id of ['pool-0', 'pool-1']) await cluster.startWorker(id)
      const edit = (seconds: number): Promise<string> =>
        applySet(cluster, 'pool', {
          config: { enabled: true, interval_seconds: seconds },
          rollout: { stages: [{ workers: 1, bakeSeconds: 0, approval: 'Manual' }] },
        })
      const isReady = async (): Promise<void> => {
        await cluster.kubectl('wait', '-n', 'team-a', '--for=condition=Ready', 'fws/pool', '--timeout=60s')
      }
      await edit(60)
      await isReady()
      const { page } = await signedIn(`${cluster.fleet.url}/`, '#/automations/http-probe')
      await page.getByRole('heading', { name: 'Config' }).waitFor()
      const card = page.getByRole('region', { name: 'Rollout of pool' })
      const muster = (line: string): Promise<unknown> =>
        run(line.replace(/^muster /, `${process.execPath} dist/cmd/muster.js `))

      await edit(45)
      await card.getByText('Waiting for approval').waitFor()
      await card.getByText('1 of 2 have').waitFor()
      await card.getByText('/interval_seconds').waitFor()
      await look(page, 'rollout-approval')
      await muster(await card.locator('code', { hasText: 'muster rollout promote' }).innerText())
      await page.getByRole('region', { name: 'Complete rollouts' }).getByText('all 2 workers have').waitFor()
      expect(await card.count()).toBe(0)

      await edit(50)
      await card.getByText('Waiting for approval').waitFor()
      await muster('muster rollout abort -n team-a pool')
      await card.getByText('Rolled back').waitFor()
      await page.goto(`${cluster.fleet.url}/#/`)
      const attention = page.locator('.attention-text', { hasText: 'rollout was rolled back in stage 1 of 2' })
      await attention.waitFor()
      await edit(45)
      await isReady()
      await attention.waitFor({ state: 'detached' })
    })
  })
})
