// What the dashboard offers for a worker that a FleetWorker manages: a patch for Git, which a real API server takes and the
// operator applies, and an override, which counts as drift.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { it } from '../dashboard/browser/it.ts'
import { look, signedIn } from '../dashboard/browser/watched.ts'
import { Cluster } from './cluster.ts'
import { programPath } from './programs.ts'
import { withApiServer } from './with-programs.ts'

withApiServer('the dashboard beside an operator', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start('cluster-wide')
    await cluster.startOperator()
    await cluster.startWorker('p-1')
    await cluster.apply('p-1', { config: { enabled: true, interval_seconds: 60 } })
    await cluster.condition('p-1', 'Synced=InSync')
  }, 180_000)
  afterAll(() => cluster.close(), 60_000)

  /** As a person's shell would, with the rights of an admin of the cluster. */
  const run = (line: string): Promise<unknown> =>
    promisify(execFile)('sh', ['-c', line], {
      env: {
        PATH: `${dirname(programPath('kubectl') ?? '')}:${process.env['PATH']}`,
        HOME: cluster.server.folder,
        KUBECONFIG: join(cluster.server.folder, 'kubeconfig.json'),
      },
    })

  describe('the dashboard beside an operator', () => {
    it('gives a patch that the API server takes, and shows the worker when it is applied', async () => {
      const { page } = await signedIn(`${cluster.fleet.url}/`, '#/workers/http-probe/p-1?tab=config')
      await page.getByText('It is locked here').waitFor()
      await page.getByRole('button', { name: 'Edit for Git…' }).click()
      await page.getByLabel('slots', { exact: true }).fill('3')
      await page.getByLabel('interval_seconds').fill('45')
      await page.getByLabel('user_agent').fill('it\'s "muster"; $(reboot)')
      await page.getByRole('button', { name: /^Review/ }).click()
      const line = await page.locator('pre.patch').innerText()
      expect(line).toMatch(/^kubectl -n team-a patch fw p-1 --type merge -p /)
      await run(line)
      await cluster.until('the patch is applied', async () => (await cluster.worker('p-1'))?.config['slots'] === 3)
      expect((await cluster.worker('p-1'))?.config).toMatchObject({
        interval_seconds: 45,
        user_agent: 'it\'s "muster"; $(reboot)',
      })
      await cluster.condition('p-1', 'Synced=InSync')
      await look(page, 'managed-patched')
    })

    it('overrides only after the person said that they know it is drift, and the operator then says so or reverts it', async () => {
      const { page } = await signedIn(`${cluster.fleet.url}/`, '#/workers/http-probe/p-1?tab=config')
      await page.getByRole('button', { name: 'Override here…' }).click()
      await page.getByLabel('interval_seconds').fill('50')
      await page.getByRole('button', { name: /^Review/ }).click()
      expect(await page.getByRole('button', { name: /^Save/ }).isDisabled()).toBe(true)
      await page.getByLabel('I know that a change made here').check()
      await page.getByRole('button', { name: /^Save/ }).click()
      await page.getByText(/Generation \d+ is saved\./).waitFor()
      await cluster.until(
        'it is reverted',
        async () => (await cluster.worker('p-1'))?.config['interval_seconds'] === 45,
      )
    })
  })
})
