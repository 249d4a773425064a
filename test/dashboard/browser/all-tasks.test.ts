// Lists, filters and cancels tasks in a real browser, against a real master.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { eventually } from '../../kit/index.ts'
import { BusyFleet } from './busy-fleet.ts'
import { tabTo } from './in-page.ts'
import { it } from './it.ts'
import { READ_TOKEN } from './page-master.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const ALL = '#/tasks/mailer?tab=all'
let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start({ isAlone: true })
})
afterEach(() => fleet.stop())

async function open(hash = ALL, token = ADMIN_TOKEN): Promise<Page> {
  const { page } = await signedIn(`${fleet.url}/`, hash, token)
  await page.getByRole('heading', { name: 'All tasks' }).waitFor()
  return page
}

/** Resolves when the list has this number of tasks. */
const shows = (page: Page, count: string): Promise<void> =>
  page.getByRole('heading', { name: `All tasks ${count}`, exact: true }).waitFor()
const tick = (page: Page, id: string): Promise<void> => page.getByLabel(`Select ${id}`, { exact: true }).check()
const labels = (page: Page) => page.getByLabel('Labels', { exact: true })
const rowOf = (page: Page, id: string) => page.getByRole('button', { name: id, exact: true })

async function fill(): Promise<void> {
  await fleet.killTasks('mailer', 'dead', 2, 'no such host')
  await fleet.delayTasks('mailer', 'later', 3)
  await fleet.submit('mailer', 'acme', 4, { labels: { tenant: 'acme', region: 'eu' } })
  await fleet.queueTasks('mailer', 'mail', 12)
}

describe('all tasks of a type', () => {
  it('are filtered by state, label and text, and the address keeps the filter', async () => {
    await fill()
    const page = await open()
    await shows(page, '21')
    await look(page, 'all-tasks')
    await page.getByLabel('State', { exact: true }).selectOption('scheduled')
    await shows(page, '3')
    await page.getByLabel('State', { exact: true }).selectOption('')
    await labels(page).fill('tenant')
    await page.getByText('Write labels as key=value, separated by commas.').waitFor()
    await labels(page).fill('tenant:acme')
    await page.getByRole('button', { name: 'Search' }).click()
    await shows(page, '4')
    await page.getByLabel('Text in ID or JSON').fill('ACME-3')
    await page.keyboard.press('Enter')
    await shows(page, '1')
    expect(new URL(page.url()).hash).toBe('#/tasks/mailer?tab=all&label=tenant%3Dacme&q=ACME-3')
    await page.reload()
    await shows(page, '1')
    expect(await labels(page).inputValue()).toBe('tenant=acme')
    await page.getByLabel('Text in ID or JSON').fill('nothing')
    await page.keyboard.press('Enter')
    await page.getByText('No tasks match this filter').waitFor()
    await look(page, 'all-tasks-none')
    await page.goBack()
    await rowOf(page, 'acme-3').click()
    await page.getByRole('heading', { name: 'Task acme-3' }).waitFor()
  })

  it('are filtered by several labels, and the listed ones are saved as NDJSON', async () => {
    await fill()
    await fleet.submit('mailer', 'other', 2, { labels: { tenant: 'acme', region: 'us' } })
    const page = await open()
    await shows(page, '23')
    await labels(page).fill('tenant:acme')
    await page.keyboard.press('Enter')
    await shows(page, '6')
    await labels(page).fill('tenant:acme, region:us')
    await page.keyboard.press('Enter')
    await shows(page, '2')
    expect(new URL(page.url()).hash).toBe('#/tasks/mailer?tab=all&label=tenant%3Aacme%2C+region%3Aus')
    await look(page, 'all-tasks-labels')
    const saving = page.waitForEvent('download')
    await tabTo(page, page.getByRole('button', { name: 'Save 2 as NDJSON' }))
    await page.keyboard.press('Enter')
    const file = await saving
    expect(file.suggestedFilename()).toBe('mailer-tasks.ndjson')
    const lines = readFileSync(await file.path(), 'utf8')
      .trimEnd()
      .split('\n')
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { task_id: 'other-1', place: 'pending', labels: { tenant: 'acme', region: 'us' } },
      { task_id: 'other-2', place: 'pending', labels: { tenant: 'acme', region: 'us' } },
    ])
    expect(lines.join()).not.toContain('"id"')
    await labels(page).fill('region:mars')
    await page.keyboard.press('Enter')
    await page.getByText('No tasks match this filter').waitFor()
    expect(await page.getByRole('button', { name: /as NDJSON/ }).count()).toBe(0)
  })

  it('are cancelled when they are selected, above ten only after their number is typed, with a tally', async () => {
    await fill()
    const page = await open()
    await shows(page, '21')
    expect(await page.getByLabel('Select dead-1', { exact: true }).count()).toBe(0)
    await tick(page, 'mail-1')
    await tick(page, 'later-2')
    await page.getByRole('button', { name: 'Cancel 2…' }).click()
    await page.getByRole('dialog', { name: 'Cancel 2 tasks of mailer?' }).waitFor()
    await fleet.cancel('mailer', ['mail-1']) // Meanwhile another person cancels one of them.
    await page.getByRole('button', { name: 'Cancel 2', exact: true }).click()
    await shows(page, '19')
    await page.getByText('1 task cancelled. 1 was no longer stored.').waitFor()
    await page.getByLabel('Select the 17 listed tasks that can be cancelled').check()
    await page.getByRole('button', { name: 'Cancel 17…' }).click()
    const confirm = page.getByRole('button', { name: 'Cancel 17', exact: true })
    expect(await confirm.isDisabled()).toBe(true)
    await look(page, 'cancel-tasks')
    await page.getByLabel('Type 17 to confirm').fill('17')
    await confirm.click()
    await page.getByText('17 tasks cancelled.').waitFor()
    await shows(page, '2')
    await eventually('only the dead tasks are left', async () => {
      const { high, normal, low, scheduled, dead } = await fleet.counts('mailer')
      return [high, normal, low, scheduled, dead].join() === '0,0,0,0,2'
    })
  })

  it('are read page by page', async () => {
    await fleet.queueTasks('mailer', 'mail', 600)
    const page = await open()
    await shows(page, '100+')
    await page.getByText('there may be more').waitFor()
    await page.getByRole('button', { name: 'Show 500' }).click()
    await shows(page, '500+')
    await page.getByRole('button', { name: 'Show 1,000' }).click()
    await shows(page, '600')
    expect(await page.getByText('there may be more').count()).toBe(0)
  })

  it('cannot be cancelled, nor the queue paused, with a token that may only read', async () => {
    await fill()
    const page = await open(ALL, READ_TOKEN)
    await shows(page, '21')
    await look(page, 'all-tasks-read-only')
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(await page.getByRole('button', { name: /Cancel/ }).count()).toBe(0)
    await page.goto(page.url().replace('?tab=all', ''))
    const pause = page.getByRole('button', { name: 'Pause…' })
    expect(await pause.isDisabled()).toBe(true)
    expect(await pause.getAttribute('title')).toBe('This token may not operate this type.')
  })

  it('are replaced by an error while the master does not list them, and shown when it does', async () => {
    const page = await open('#/tasks/mailer?tab=all')
    await page.getByText('No tasks here').waitFor()
    await fleet.queueTasks('mailer', 'mail', 1)
    await page.route(
      '**/api/v1/automations/mailer/tasks?*',
      (route) => route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: { detail: 'no store' } }),
      { times: 1 },
    )
    await page.getByLabel('State', { exact: true }).selectOption('pending')
    await page.getByText('No store.').waitFor()
    await shows(page, '1')
  })
})
