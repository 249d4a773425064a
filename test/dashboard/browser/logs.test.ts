// The log of a worker and of a task in a real browser, with a real master and real workers (D181).
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { connectOther, masterOf, runTask, stopWorkers, work } from '../../master/worker-logs/fixture.ts'
import { inPage, saved } from './in-page.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const HOSTILE = '<img src=x onerror="window.ran=1">\u202eevil\u0007\u001b[31m'

let master: TestMaster

beforeEach(async () => {
  if (CHROMIUM !== undefined) master = await masterOf({ dashboardDir: join(process.cwd(), 'dist/dashboard') })
})
afterEach(stopWorkers)

async function open(hash: string): Promise<Page> {
  const { page } = await signedIn(`${master.url}/`, hash, TOKENS.admin)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

const rows = (page: Page) => page.getByRole('table', { name: 'Log entries' })

describe('the log of a worker', () => {
  it('follows what it logs, filtered by level and text, is saved, and is kept while it is offline', async () => {
    const worker = await work(master, 'w-1', { max_attempts: 1 })
    await runTask(master, [{ message: HOSTILE, fields: { html: '<script>window.ran=1</script>' } }])
    const page = await open('#/workers/mailer/w-1')
    await page.getByRole('link', { name: 'Logs' }).click()
    await rows(page).getByText('config_gen=1 enabled=true').waitFor()
    await rows(page).getByText('<img src=x onerror="window.ran=1">\\u202eevil\\u0007\\u001b[31m').waitFor()
    expect(await inPage(page, 'window.ran')).toBeUndefined()
    const failed = await runTask(master, [{ level: 'warn', message: 'a slow request' }], { fails: true })
    await rows(page).getByText('a slow request').waitFor()
    await look(page, 'worker-logs')

    await page.getByLabel('Level').selectOption('warn and above')
    await page.getByLabel('Filter the log').fill(failed)
    await rows(page).getByText('config_gen=1 enabled=true').waitFor({ state: 'detached' })
    await rows(page).getByText('the task failed').waitFor()
    const entries = (await saved(page, 'Save as NDJSON')).trimEnd().split('\n')
    expect(entries.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual([
      'a slow request',
      'the task failed',
    ])
    expect(await saved(page, 'Save as text')).toMatch(/^\S+Z warn {2}slot 0 task t-\d+ a slow request\n/)
    await page.getByLabel('Filter the log').fill('')

    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await runTask(master, [{ level: 'error', message: 'while it is paused' }])
    await page.waitForTimeout(2_500)
    expect(await rows(page).getByText('while it is paused').count()).toBe(0)
    await page.getByRole('button', { name: 'Resume' }).click()
    await rows(page).getByText('while it is paused').waitFor()

    worker.drain('the test wants it offline')
    await worker.done
    await page.getByText('The worker is offline', { exact: true }).waitFor()
    await rows(page).getByText('while it is paused').waitFor()
    await look(page, 'worker-logs-offline')
  })

  it('says that a worker of an earlier release has to be upgraded', async () => {
    await connectOther(master, 'old', { 'muster-version': '0.1.0' })
    const page = await open('#/workers/mailer/old?tab=logs')
    await page.getByText(/runs version 0\.1\.0, which cannot show its log; upgrade the worker/).waitFor()
    await look(page, 'worker-logs-outdated')
  })
})

describe('the log of a task', () => {
  it('is on its page, from the worker that ran it, and leads to the log of that worker', async () => {
    await work(master, 'w-1')
    const id = await runTask(master, [{ message: 'a line of this task' }])
    await runTask(master, [{ message: 'a line of another task' }])
    const page = await open(`#/tasks/mailer/${id}`)
    await page.getByRole('table', { name: 'Log on w-1' }).getByText('a line of this task').waitFor()
    expect(await page.getByText('a line of another task').count()).toBe(0)
    await look(page, 'task-log')
    await page.locator('.logs').getByRole('link', { name: 'w-1' }).click()
    await rows(page).getByText('a line of this task').waitFor()
    expect(new URL(page.url()).hash).toBe(`#/workers/mailer/w-1?tab=logs&q=${id}`)
  })
})
