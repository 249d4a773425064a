// The worker list and the overview in a real browser, against a master with hundreds of workers.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { it } from './it.ts'
import { MAILER_TOKEN, ManyWorkers } from './many-workers.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const many = new ManyWorkers()
const open = async (hash: string, token?: string): Promise<Page> => (await signedIn(`${many.url}/`, hash, token)).page
const ids = (page: Page): Promise<string[]> =>
  page.getByRole('table', { name: 'Workers' }).getByRole('rowheader').allInnerTexts()
const count = (page: Page, text: string) => page.locator('.filter .found').getByText(text, { exact: true }).waitFor()

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await many.start()
  await many.add('mailer', 300)
  await many.add('probe', 20)
}, 60_000)
afterAll(() => many.stop())

describe('the overview', () => {
  it('summarizes the fleet and links to what needs attention', async () => {
    const page = await open('')
    await page.getByText(/^Attention: /).waitFor()
    await page.getByRole('list', { name: 'Fleet totals' }).getByText('320', { exact: true }).waitFor()
    await page.getByText('3 workers are in ERROR').first().waitFor()
    expect(await page.title()).toMatch(/^\(\d+\) Overview · Muster$/)
    await look(page, 'overview')
    await page.getByRole('link', { name: 'Open mailer: 3 workers are in ERROR' }).click()
    await page.getByRole('heading', { name: 'Workers' }).waitFor()
    await count(page, '3 of 320')
  })
})

describe('the worker list', () => {
  it('is filtered and sorted, and the URL contains filter and order', async () => {
    const page = await open('#/workers')
    await count(page, '320')
    await page.getByLabel('Filter workers').fill('type:mailer state:error,offline')
    await count(page, '6 of 320')
    await page.getByRole('button', { name: 'State' }).click()
    await page.locator('th[aria-sort="ascending"]').getByText('State').waitFor()
    expect((await ids(page)).slice(0, 3)).toEqual(['m-7', 'm-107', 'm-207'])
    expect(page.url()).toContain('#/workers?q=type%3Amailer+state%3Aerror%2Coffline&sort=state')
    await page.reload()
    await count(page, '6 of 320')
    expect((await ids(page))[0]).toBe('m-7')
    await look(page, 'workers')
  })

  it('reports an unknown filter, and distinguishes an empty result from an empty fleet', async () => {
    const page = await open('#/workers')
    await page.getByLabel('Filter workers').fill('stat:error')
    await page.getByText('Unknown filter "stat:".').waitFor()
    await count(page, '320')
    await page.getByLabel('Filter workers').fill('no-such-name')
    await page.getByText('Nothing matches the filter').waitFor()
    await look(page, 'workers-filtered-out')
    await page.getByRole('button', { name: 'Show all' }).click()
    await count(page, '320')
    await page.getByRole('button', { name: 'Filter syntax' }).click()
    await page.getByText('enabled in its config').waitFor()
    await look(page, 'workers-filter-words')
  })

  it('has few rows in the document, and every row can be reached', async () => {
    const page = await open('#/workers')
    await count(page, '320')
    const table = page.getByRole('table', { name: 'Workers' })
    expect(await table.getAttribute('aria-rowcount')).toBe('321')
    expect(await page.locator('tbody tr[data-key]').count()).toBeLessThan(60)
    await page.evaluate('document.querySelector(".scroller").scrollTop = 1e9')
    await page.getByRole('link', { name: 'p-20' }).waitFor()
    expect(await page.locator('tbody tr[data-key]').last().getAttribute('aria-rowindex')).toBe('321')
  })

  it('moves no rows under the pointer and offers to re-sort', async () => {
    const page = await open('#/workers?sort=state&q=type:probe')
    await count(page, '20 of 320')
    await page.mouse.move(600, 400)
    await page.mouse.move(610, 404)
    const before = await ids(page)
    await many.change('probe', [15], 'ERROR', 'ECONNRESET')
    await page.getByRole('row').filter({ hasText: 'ECONNRESET' }).waitFor()
    await page.getByRole('button', { name: /moved: re-sort/ }).waitFor()
    expect(await ids(page)).toEqual(before)
    // No pointer move to the button: it would leave the table and re-sort the rows.
    await page.getByRole('button', { name: /moved: re-sort/ }).dispatchEvent('click')
    await page.waitForFunction('document.querySelector("tbody tr[data-key] th.row-head").innerText.startsWith("p-")')
    expect((await ids(page)).slice(0, 2).toSorted()).toEqual(['p-15', 'p-7'])
    await many.change('probe', [15], 'RUNNING')
  })

  it('shows state changes from events', async () => {
    const page = await open('#/workers?q=type:probe')
    await count(page, '20 of 320')
    await many.change('probe', [1], 'ERROR', 'EHOSTUNREACH')
    await page.getByRole('row').filter({ hasText: 'p-1' }).first().getByText('EHOSTUNREACH').waitFor({ timeout: 3_000 })
    await many.change('probe', [1], 'RUNNING')
    await page.getByText('EHOSTUNREACH').waitFor({ state: 'detached', timeout: 3_000 })
  })
})

describe('bulk actions', () => {
  it('show number and scope, skip managed workers, and list each result, with one 412 and one 422', async () => {
    const page = await open('#/workers?q=type:mailer')
    await count(page, '300 of 320')
    for (const id of ['m-1', 'm-2', 'm-4', 'm-5'])
      await page.getByRole('checkbox', { name: `Select mailer/${id}`, exact: true }).check()
    await page.getByText('4 workers selected').waitFor()
    await page.getByRole('button', { name: 'Config…' }).click()
    await page.getByText('Select the fields to set.').waitFor()
    await page.getByRole('checkbox', { name: 'slots' }).check()
    await page.getByRole('textbox', { name: 'slots' }).fill('many')
    await page.getByText('expected a whole number, got "many"').waitFor()
    await page.getByRole('textbox', { name: 'slots' }).fill('3')
    await look(page, 'bulk-config')
    await page.route('**/workers/m-2/config', (route) =>
      route.fulfill({ status: 412, json: { detail: 'the config is at another generation' } }),
    )
    await page.route('**/workers/m-4/config', (route) =>
      route.fulfill({
        status: 422,
        json: { detail: [{ path: '/slots', message: 'must be <= 2', keyword: 'maximum', params: {} }] },
      }),
    )
    await page.getByRole('button', { name: 'Save config of 4' }).click()
    await page.getByText('1 done, 1 skipped, 2 rejected').waitFor()
    await page.getByText('managed by kubernetes:mail/m-5').waitFor()
    await page.getByText('its config was changed in the meantime').waitFor()
    await look(page, 'bulk-results')
    await page.getByRole('button', { name: 'Close' }).click()
    const [changed] = await many.backend.configs.get([{ type: 'mailer', id: 'm-1' }])
    expect(JSON.parse(changed?.config ?? '{}')).toMatchObject({ slots: 3 })
    await page.getByText('4 workers selected').waitFor()
    await page.getByRole('button', { name: 'Clear selection' }).click()
  })

  it('on more than ten workers need the number typed', async () => {
    const page = await open('#/workers?q=type:probe')
    await count(page, '20 of 320')
    await page.getByRole('button', { name: 'Select these 20' }).click()
    await page.getByRole('button', { name: 'Drain…' }).click()
    await page.getByText('A drain cannot be cancelled.').waitFor()
    expect(await page.getByRole('button', { name: 'Drain 20' }).isDisabled()).toBe(true)
    await page.getByLabel('Type 20 to confirm').fill('20')
    await page.getByRole('button', { name: 'Drain 20' }).click()
    await page.getByText('19 done, 1 skipped').waitFor() // p-9 was already draining.
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByText(/connected and will not stop/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('20 workers selected').waitFor()
  })

  it('can select a range with the shift key', async () => {
    const page = await open('#/workers?q=type:mailer')
    await count(page, '300 of 320')
    await page.getByRole('checkbox', { name: 'Select mailer/m-2', exact: true }).click()
    await page.getByRole('checkbox', { name: 'Select mailer/m-6', exact: true }).click({ modifiers: ['Shift'] })
    await page.getByText('5 workers selected').waitFor()
  })
})

describe('keyboard shortcuts', () => {
  it('open pages, focus the filter, move between rows, select and open them', async () => {
    const page = await open('')
    await page.getByText(/^Attention: /).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await count(page, '320')
    await page.keyboard.press('/')
    await page.keyboard.type('node-12')
    await count(page, '9 of 320')
    await page.keyboard.press('Tab')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 worker selected').waitFor()
    const key = await page.evaluate<string>('document.activeElement.dataset.key')
    await page.keyboard.press('Enter')
    await page
      .getByRole('heading', { level: 1 })
      .getByText(key.split('/')[1] ?? '')
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('heading', { name: 'Workers' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await look(page, 'keys')
    await page.keyboard.press('Escape')
    await page.keyboard.press('p')
    await page.getByRole('button', { name: /paused since/ }).waitFor()
    await page.keyboard.press('p')
    await page.getByRole('button', { name: /live/ }).waitFor()
  })

  it('are ignored in text fields and when they are turned off', async () => {
    const page = await open('#/settings')
    await page.getByLabel('Your name in the config history').fill('')
    await page.keyboard.type('gw ana')
    expect(page.url()).toContain('#/settings')
    await look(page, 'settings')
    await page.getByLabel('Enable single-key shortcuts').uncheck()
    await page.locator('h1').click()
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    expect(page.url()).toContain('#/settings')
  })
})

describe('the settings', () => {
  it('apply the theme before the first paint, and the time zone to every time', async () => {
    const page = await open('#/settings')
    await page.getByLabel('Dark').check()
    await page.getByLabel('UTC').check()
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(15, 20, 25)')
    await page.route('**/assets/index-*.js', (route) => route.abort())
    await page.reload()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await page.unroute('**/assets/index-*.js')
    await page.goto(`${many.url}/#/workers`)
    await page.reload()
    await count(page, '320')
    expect(await page.locator('tbody time').first().getAttribute('title')).toMatch(/ UTC$/)
  })
})

describe('a scoped token', () => {
  it('sees only the workers of its types', async () => {
    const page = await open('#/workers', MAILER_TOKEN)
    await count(page, '300')
    expect(await page.getByRole('link', { name: 'p-1' }).count()).toBe(0)
  })
})

describe('a page script that cannot be loaded', () => {
  it('causes an error with a reload button, and the other pages work', async () => {
    const page = await open('')
    await page.getByText(/^Attention: /).waitFor()
    await page.route('**/assets/pools-page-*.js', (route) =>
      route.fulfill({ status: 404, json: { detail: 'no such file' } }),
    )
    await page.goto(`${many.url}/#/pools`)
    await page.getByText('This page cannot be displayed: A part of the page could not be loaded.').waitFor()
    await look(page, 'page-not-loaded')
    await page.goto(`${many.url}/#/workers`)
    await count(page, '320')
    await page.goto(`${many.url}/#/pools`)
    await page.unroute('**/assets/pools-page-*.js')
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
  })
})
