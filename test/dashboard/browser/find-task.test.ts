// Finds tasks by their ID in a real browser, against a real master with the queues of two types.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { BusyFleet } from './busy-fleet.ts'
import { it } from './it.ts'
import { MAILER_TOKEN } from './many-workers.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start()
})
afterEach(() => fleet.stop())

async function open(hash: string, token = ADMIN_TOKEN): Promise<Page> {
  const { page } = await signedIn(`${fleet.url}/`, hash, token)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

describe('the task finder', () => {
  it('opens with the key f and leads to the page of the only task with the ID', async () => {
    await fleet.queueTasks('mailer', 'mail', 3)
    const page = await open('#/workers')
    await page.keyboard.press('f')
    await page.getByRole('dialog', { name: 'Find a task' }).waitFor()
    expect(await page.getByLabel('Task ID').inputValue()).toBe('')
    await page.keyboard.type(' mail-2 ')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Task mail-2' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new URL(page.url()).hash).toBe('#/tasks/mailer/mail-2')
    await page.getByText('Waiting in the queue.').waitFor()
    await look(page, 'task')
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Queue of mailer' }).waitFor()
  })

  it('lists the types if several have a task with the ID', async () => {
    await fleet.queueTasks('mailer', 'job', 1)
    await fleet.queueTasks('thumbnail', 'job', 1)
    const page = await open('#/tasks')
    await page.getByRole('button', { name: 'Find a task by ID…' }).click()
    await page.keyboard.type('job-1')
    await page.keyboard.press('Enter')
    await page.getByText('2 automation types have a task job-1:').waitFor()
    await look(page, 'find-several')
    await page.getByRole('dialog').getByRole('link', { name: 'thumbnail' }).click()
    await page.getByRole('heading', { name: 'Task job-1' }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/tasks/thumbnail/job-1')
  })

  it('explains an unknown ID, also of a type that the token does not cover', async () => {
    await fleet.queueTasks('thumbnail', 'job', 1)
    const page = await open('#/', MAILER_TOKEN)
    await page.keyboard.press('f')
    await page.getByLabel('Task ID').fill('job-1')
    await page.keyboard.press('Enter')
    await page.getByText('No task with this ID').waitFor()
    await page.getByText('that this token does not cover').waitFor()
    await look(page, 'find-unknown')
  })

  it('shows an error of the master, and finds the task when the master has recovered', async () => {
    await fleet.queueTasks('mailer', 'mail', 1)
    const page = await open('#/')
    await page.route(
      '**/api/v1/tasks/mail-1',
      (route) => route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: { detail: 'no store' } }),
      { times: 1 },
    )
    await page.keyboard.press('f')
    await page.getByLabel('Task ID').fill('mail-1')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('No store.').waitFor()
    await page.getByRole('heading', { name: 'Task mail-1' }).waitFor()
  })
})
