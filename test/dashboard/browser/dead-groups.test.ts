// Groups of dead letters in a real browser, against a real master with data (D157, D158, D159).
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { eventually } from '../../kit/eventually.ts'
import { BusyFleet } from './busy-fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, look, openPage, signedIn, signIn } from './watched.ts'

let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start()
})
afterEach(() => fleet.stop())

async function open(): Promise<Page> {
  const { page } = await signedIn(`${fleet.url}/`, '#/tasks/mailer?tab=dead')
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

const counts = async () => (await fleet.backend.tasks.counts(['mailer']))[0]

describe('groups of dead letters', () => {
  it('show the whole queue, newest death first, with the pattern as title', async () => {
    await fleet.killTasks('mailer', 'old', 700, 'bad magic 0x{n} found')
    await fleet.killTasks('mailer', 'new', 3, 'connect ECONNREFUSED 10.0.0.{n}:465')
    const page = await open()
    await page.getByText('All 703, in 2 groups by error, newest death first.').waitFor()
    const titles = await page.getByRole('list', { name: 'Groups by error' }).locator('.group-error').allTextContents()
    expect(titles).toEqual(['connect ECONNREFUSED <host>', 'bad magic <hex> found'])
    await page.getByRole('link', { name: 'Show 700' }).click()
    await page.getByText('The newest 100 of 700').waitFor()
    await page.getByRole('button', { name: 'old-700', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Show 500' }).click()
    await page.getByText('The newest 500 of 700').waitFor()
    await page.evaluate('scrollTo(0, 0)')
    await look(page, 'dead-groups')
  })

  it('are read again if one was removed before the event stream opened', async () => {
    await fleet.killTasks('mailer', 'dead', 1, 'boom')
    const { page } = await openPage(`${fleet.url}/`, '#/tasks/mailer?tab=dead')
    let letThrough = (): void => {}
    const until = new Promise<void>((resolve) => (letThrough = resolve))
    await page.route('**/api/v1/events*', async (route) => {
      await until
      await route.continue()
    })
    await signIn(page, ADMIN_TOKEN)
    await page.getByRole('button', { name: 'dead-1', exact: true }).waitFor()
    await fleet.backend.tasks.clearDead('mailer')
    await page.waitForTimeout(1_500) // Its event is over.
    letThrough()
    await page.getByText('No dead letters').waitFor()
  })

  it('are replayed at a pace, after a question that names the error', async () => {
    await fleet.killTasks('mailer', 'dead', 20, 'no route to 10.0.0.{n}')
    const page = await open()
    await page.getByRole('button', { name: 'Replay 20…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('no route to <host>').waitFor()
    await dialog.getByLabel('Tasks a second').fill('2')
    await dialog.getByText('Takes about 10 seconds.').waitFor()
    await look(page, 'dead-group-replay')
    await dialog.getByRole('button', { name: 'Replay 20' }).click()
    await page.getByText('20 tasks requeued.').waitFor()
    const { dead, scheduled = 0 } = (await counts()) ?? {}
    expect([dead, scheduled > 0]).toEqual([0, true])
    const replays = page.getByRole('list', { name: 'Replays' })
    await replays.getByText(/^20 replayed: 0 done, 20 not finished/).waitFor()
  })

  it('lose a task that is edited and replayed', async () => {
    await fleet.killTasks('mailer', 'dead', 2, 'boom')
    const page = await open()
    await page.getByRole('button', { name: 'dead-1', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Edit and replay…' }).click()
    const input = dialog.getByLabel('Payload', { exact: true })
    await input.fill('[')
    await dialog.getByText('The payload must be a JSON object.').waitFor()
    await input.fill('{"to":"edited@example.com"}')
    await dialog.getByRole('button', { name: 'Replay with this payload' }).click()
    await page.getByText('1 task requeued with the edited payload.').waitFor()
    await eventually('the edited task waits', async () => (await counts())?.dead === 1)
    const { items } = await fleet.backend.tasks.queue('mailer', 1_000)
    expect(items.find(({ id }) => id === 'dead-1')?.body).toContain('edited@example.com')
  })
})
