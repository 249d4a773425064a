// The groups of a type in a real browser, against a real master.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { eventually } from '../../kit/index.ts'
import { BusyFleet } from './busy-fleet.ts'
import { tabTo } from './in-page.ts'
import { it } from './it.ts'
import { READ_TOKEN } from './page-master.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const QUEUE = '#/tasks/courier'
const LONG = 'tenant-'.padEnd(128, 'x')
let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start({ isAlone: true, hasGroups: true })
})
afterEach(() => fleet.stop())

async function open(token = ADMIN_TOKEN, hash = QUEUE): Promise<Page> {
  const { page } = await signedIn(`${fleet.url}/`, hash, token)
  await page.getByRole('heading', { name: 'Queue of' }).waitFor()
  return page
}

const submit = (prefix: string, count: number, group?: string): Promise<void> =>
  fleet.submit('courier', prefix, count, group === undefined ? {} : { group_key: group })

/** Group, pending, in flight and next start of each row. */
async function rowsOf(page: Page): Promise<readonly string[]> {
  const rows = await page.getByRole('table', { name: 'Groups' }).locator('tbody tr').all()
  return Promise.all(rows.map(async (row) => (await row.locator('th, td').allInnerTexts()).join(' | ')))
}

describe('the groups of a type', () => {
  it('are listed with their pending tasks, leases and next start, those with the most pending first', async () => {
    await submit('acme', 1_000, 'acme')
    await submit('full', 5, 'full')
    await submit('long', 3, LONG)
    await submit('markup', 2, '<b>\u202Eevil</b>')
    await submit('plain', 1)
    const leases = await fleet.leaseTasks('courier', 100)
    await fleet.ackTasks(
      'courier',
      leases.filter(({ id }) => id === 'acme-1'),
    )
    const page = await open(READ_TOKEN)
    await page.getByRole('heading', { name: 'Groups' }).waitFor()
    await page.getByRole('table', { name: 'Groups' }).getByText('acme').waitFor()
    const rows = await rowsOf(page)
    expect(rows).toEqual([
      expect.stringMatching(/^acme \| 998 \| 1 of 2 \| in 1[45] min/),
      'full | 3 | 2 of 2 | when a task ends',
      `${LONG} | 1 | 2 of 2 | when a task ends`,
      'no group | 0 | 1 of 2 | –',
      '<b>\u202Eevil</b> | 0 | 2 of 2 | –',
    ])
    await page.getByRole('heading', { name: 'Groups' }).scrollIntoViewIfNeeded()
    await look(page, 'groups')
  })

  it('follow the queue, and are empty when no task is left', async () => {
    const page = await open()
    await page.getByText('No groups with tasks').waitFor()
    await look(page, 'groups-none')
    await submit('acme', 2, 'acme')
    await eventually('the group is shown', async () => (await rowsOf(page)).join() === 'acme | 2 | 0 of 2 | –')
    const leases = await fleet.leaseTasks('courier', 2)
    await eventually('its leases are shown', async () => (await rowsOf(page)).join() === 'acme | 0 | 2 of 2 | –')
    await fleet.ackTasks('courier', leases)
    await page.getByText('No groups with tasks').waitFor()
  })

  it('are copied as commands with the keyboard', async () => {
    const page = await open()
    const card = page.locator('section.card').filter({ has: page.getByRole('heading', { name: 'Groups' }) })
    await tabTo(page, card.locator('summary'))
    await page.keyboard.press('Enter')
    await card.getByRole('button', { name: 'muster' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await card.getByRole('button', { name: 'muster' }).isVisible()).toBe(false)
  })

  it('are not shown for a type without groups', async () => {
    const page = await open(ADMIN_TOKEN, '#/tasks/mailer')
    expect(await page.getByRole('heading', { name: 'Groups' }).count()).toBe(0)
  })
})
