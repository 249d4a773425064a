// The worker list and the overview in a real browser, against a master with hundreds of workers.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { it } from './it.ts'
import { MAILER_TOKEN, ManyWorkers } from './many-workers.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const many = new ManyWorkers()
let reporting: ReturnType<typeof setInterval> | undefined
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)
const open = async (hash: string, token?: string): Promise<Page> => (await signedIn(`${many.url}/`, hash, token)).page
const ids = (page: Page): Promise<string[]> =>
  page.getByRole('table', { name: 'Workers' }).getByRole('rowheader').allInnerTexts()
const count = (page: Page, text: string) => page.locator('.filter .found').getByText(text, { exact: true }).waitFor()

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await many.start()
  await many.add('mailer', 300)
  await many.add('probe', 20)
  // Otherwise all of them are late after 45 s.
  reporting = setInterval(() => {
    void many.report('mailer', numbers(300))
    void many.report('probe', numbers(20))
  }, 10_000)
}, 60_000)
afterAll(() => {
  clearInterval(reporting)
  return many.stop()
})

describe('the overview', () => {
  it('summarizes the fleet and links to what needs attention', async () => {
    const page = await open('')
    await page.getByText(/^Attention: /).waitFor()
    await page.getByRole('list', { name: 'Fleet totals' }).getByText('320', { exact: true }).waitFor()
    await page.getByText('3 workers are in ERROR').first().waitFor()
    expect(await page.title()).toMatch(/^\(\d+\) Overview · Muster$/)
    await look(page, 'overview')
    await page.getByRole('link', { name: 'Show workers mailer: 3 workers are in ERROR' }).click()
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
    await page.locator('th[aria-sort="ascending"]').getByText('State').waitFor()
    expect((await ids(page)).slice(0, 3)).toEqual(['m-7', 'm-107', 'm-207'])
    await page.getByRole('button', { name: 'Worker' }).click()
    await page.locator('th[aria-sort="ascending"]').getByText('Worker').waitFor()
    expect(page.url()).toContain('#/workers?q=type%3Amailer+state%3Aerror%2Coffline&sort=worker')
    await page.reload()
    await count(page, '6 of 320')
    expect((await ids(page)).slice(0, 3)).toEqual(['m-7', 'm-10', 'm-107'])
    await look(page, 'workers')
  })

  it('begins with the workers in trouble, and chips with their numbers filter it', async () => {
    const page = await open('#/workers?q=type:mailer')
    await count(page, '300 of 320')
    expect((await ids(page)).slice(0, 7)).toEqual(['m-7', 'm-107', 'm-207', 'm-10', 'm-110', 'm-210', 'm-8'])
    const chips = page.getByRole('list', { name: 'Workers by state' })
    expect(await chips.getByRole('button').allTextContents()).toEqual([
      'ERROR 3',
      'offline 3',
      'behind 3',
      'DRAINING 3',
      'IDLE 30',
      'RUNNING 261',
    ])
    await chips.getByRole('button', { name: 'offline 3' }).click()
    await count(page, '3 of 320')
    expect(page.url()).toContain('q=type%3Amailer+state%3Aoffline')
    await look(page, 'workers-chip')
    await chips.getByRole('button', { name: 'offline 3', pressed: true }).click()
    await count(page, '300 of 320')
  })

  it('suggests terms, and Enter leads from the filter to the rows and back', async () => {
    const page = await open('#/workers')
    await count(page, '320')
    const filter = page.getByRole('combobox', { name: 'Filter workers' })
    await page.keyboard.press('/')
    await page.keyboard.type('state:er')
    await page.getByRole('option', { name: 'state:error 4' }).waitFor()
    await look(page, 'workers-suggestions')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await count(page, '4 of 320')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.dataset.key')).toBe('mailer/m-7')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1 }).getByText('m-107').waitFor()
    await page.getByRole('link', { name: 'Workers matching state:error' }).waitFor()
    await page.keyboard.press('Escape')
    await count(page, '4 of 320')
    await filter.press('Escape')
    expect(await filter.inputValue()).toBe('state:error')
    expect(await page.evaluate('document.activeElement.matches("[data-filter]")')).toBe(false)
    await page.getByRole('button', { name: 'Clear filter' }).click()
    await page.getByRole('button', { name: 'Filter syntax' }).click()
    await page.getByRole('button', { name: 'behind:yes' }).click()
    await count(page, '4 of 320')
  })

  it('uses the whole screen, and lets the user choose columns', async () => {
    const page = await open('#/workers')
    await count(page, '320')
    for (const [width, height] of [
      [1440, 900],
      [2560, 1300],
    ] as const) {
      await page.setViewportSize({ width, height })
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBe(height)
      expect(await page.evaluate('document.querySelector(".scroller").offsetWidth')).toBe(width - 40)
    }
    const cut = '[...document.querySelectorAll("tbody [role]")].filter((cell) => cell.scrollWidth > cell.clientWidth)'
    expect(await page.evaluate(`${cut}.map((cell) => cell.textContent)`)).toEqual([])
    await page.locator('summary').getByText('Columns').click()
    await page.getByRole('checkbox', { name: 'Host' }).check()
    await page.getByRole('checkbox', { name: 'Memory' }).uncheck()
    await look(page, 'workers-columns')
    await page.keyboard.press('Escape')
    await page.reload()
    await count(page, '320')
    await page.getByRole('columnheader', { name: 'Host' }).waitFor()
    expect(await page.getByRole('columnheader', { name: 'Memory' }).count()).toBe(0)
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
    const page = await open('#/workers?q=type:probe&sort=worker')
    await count(page, '20 of 320')
    await many.change('probe', [1], 'ERROR', 'EHOSTUNREACH')
    await page.getByRole('row').filter({ hasText: 'p-1' }).first().getByText('EHOSTUNREACH').waitFor({ timeout: 3_000 })
    await many.change('probe', [1], 'RUNNING')
    await page.getByText('EHOSTUNREACH').waitFor({ state: 'detached', timeout: 3_000 })
  })
})

describe('bulk actions', () => {
  it('change one type, without managed workers, in the form of its config', async () => {
    const page = await open('#/workers?q=type:mailer')
    await count(page, '300 of 320')
    for (const id of ['m-1', 'm-2', 'm-5'])
      await page.getByRole('checkbox', { name: `Select mailer/${id}`, exact: true }).check()
    await page.getByLabel('Filter workers').fill('type:probe')
    await page.getByRole('checkbox', { name: 'Select probe/p-1', exact: true }).check()
    await page.getByText('4 workers selected').waitFor()
    await page.getByRole('button', { name: 'Config…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save config of 2 workers?' })
    await dialog.getByText('An operation changes workers of one type, and 2 types are selected').waitFor()
    await dialog.getByText('Select the fields to set.').waitFor()
    await dialog.getByRole('checkbox', { name: 'slots' }).check()
    await dialog.getByRole('textbox', { name: 'slots' }).fill('many')
    await dialog.getByText('expected a whole number, got "many"').waitFor()
    await look(page, 'bulk-config')
    await dialog.getByRole('combobox', { name: 'Type' }).selectOption({ label: 'probe (1 worker)' })
    await page
      .getByRole('dialog', { name: 'Save config of 1 worker?' })
      .getByText('Select the fields to set.')
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('4 workers selected').waitFor()
    await page.getByRole('button', { name: 'Clear selection' }).click()
  })

  it('forget workers in the tab, and need the number typed for more than ten', async () => {
    const page = await open('#/workers?q=type:probe')
    await count(page, '20 of 320')
    await page.getByRole('button', { name: 'Select these 20' }).click()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByText(/connected and will not stop/).waitFor()
    expect(await page.getByRole('button', { name: 'Forget 20' }).isDisabled()).toBe(true)
    await page.getByLabel('Type 20 to confirm').fill('20')
    expect(await page.getByRole('button', { name: 'Forget 20' }).isEnabled()).toBe(true)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Clear selection' }).click()
    for (const id of ['p-19', 'p-20'])
      await page.getByRole('checkbox', { name: `Select probe/${id}`, exact: true }).check()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.route('**/workers/p-19', (route) => route.fulfill({ json: {} }))
    await page.route('**/workers/p-20', (route) => route.fulfill({ status: 409, json: { detail: 'in use' } }))
    await page.getByRole('button', { name: 'Forget 2' }).click()
    await page.getByText('1 done, 1 rejected').waitFor()
    await page.getByText('in use').waitFor()
    await look(page, 'bulk-results')
    await page.getByRole('button', { name: 'Close' }).click()
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
