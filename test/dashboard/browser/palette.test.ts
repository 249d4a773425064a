// Groups of workers, the command palette, saved views, and pages zoomed to 400 % and on paper, in a real browser.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { BusyFleet } from './busy-fleet.ts'
import { goTo } from './in-page.ts'
import { it } from './it.ts'
import { CHROMIUM, look, screenshot, signedIn, STAYING } from './watched.ts'

const fleet = new BusyFleet()
const open = async (hash: string, options = {}): Promise<Page> =>
  (await signedIn(`${fleet.url}/`, hash, ADMIN_TOKEN, options)).page
const marked = (page: Page, text: string) => page.getByRole('option', { selected: true }).getByText(text).waitFor()
const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1 }).getByText(text).waitFor()

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await fleet.start()
  await fleet.add('mailer', 600)
  await fleet.queueTasks('mailer', 'order', 3)
}, 60_000)
afterAll(() => fleet.stop())

describe('groups of workers', () => {
  it('have one row each with its error, open to their workers, and are in the address', async () => {
    const page = await open('#/workers')
    await page.getByLabel('Group by').selectOption('error')
    const timeouts = page.getByRole('button', { name: /^2 workers ETIMEDOUT/ })
    await timeouts.waitFor()
    expect(page.url()).toContain('#/workers?group=error')
    await look(page, 'workers-groups')
    await timeouts.click()
    await page.getByRole('link', { name: 'm-307' }).waitFor()
    await look(page, 'workers-group-open')
    await page.getByRole('checkbox', { name: /^Select 2 workers: ETIMEDOUT/ }).check()
    await page.getByText('2 workers selected').waitFor()
    await page.getByRole('link', { name: 'm-307' }).click()
    await heading(page, 'm-307')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'm-307' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByLabel('Group by').selectOption('host')
    await page.getByText('node-7.fleet.example.net').waitFor()
  })
})

describe('the command palette', () => {
  it('opens workers, task types, pages, acts and tasks by a few letters, by keyboard alone', async () => {
    const page = await open('#/settings')
    await page.getByLabel('Your name in the config history').focus()
    const opened = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k')
      await page.getByRole('dialog', { name: 'Go to' }).waitFor()
      await page.keyboard.type(text)
    }
    await opened('m307')
    await marked(page, 'mailer/m-307')
    await look(page, 'palette')
    await page.keyboard.press('Enter')
    await heading(page, 'm-307')
    await opened('history')
    await marked(page, 'Config history of m-307')
    await page.keyboard.press('Enter')
    await page.getByText('No config changes yet').waitFor()
    await opened('mailer dead')
    await page.keyboard.press('Enter')
    await page.getByText('No dead letters').waitFor()
    await opened('order-2')
    await page.keyboard.press('ArrowUp')
    await marked(page, 'Open the task order-2')
    await page.keyboard.press('Enter')
    await heading(page, 'order-2')
    await opened('theme dark')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await page.getByRole('button', { name: 'Go to…' }).click()
    await page.keyboard.type('qqqq')
    await page.getByText('Open the task qqqq').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })
})

describe('saved views', () => {
  it('are listed on the page of workers and in the palette, and stay in the browser', async () => {
    const page = await open('#/workers?q=state%3Aerror&group=error')
    await page.getByText('Views', { exact: true }).click()
    await page.getByLabel('Save this view as').fill('failing')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'failing' }).waitFor()
    await look(page, 'workers-views')
    await page.keyboard.press('Escape')
    await goTo(page, '#/tasks/mailer?tab=all&place=pending')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('save this')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Save this view as').fill('waiting mail')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await goTo(page, '#/')
    await page.reload()
    await page.getByText(/^Attention: /).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'waiting mail' }).waitFor()
    await page.getByRole('option', { name: 'failing' }).click()
    expect(page.url()).toContain('#/workers?q=state%3Aerror&group=error')
    await page.getByText('Views (1)').click()
    await page.getByRole('button', { name: 'Remove the view failing' }).click()
    await page.getByText('Views', { exact: true }).waitFor()
  })
})

const OPEN_PAGES = [
  '#/workers/mailer/m-1?tab=config',
  '#/workers?q=m-30',
  '#/tasks/mailer',
  '#/tasks/mailer?tab=all',
  '#/tasks/mailer/order-1',
  '#/operations',
  '#/',
]
/** Opens one page after the other, and waits for its data. */
async function onEachPage(page: Page, check: (hash: string) => Promise<void>): Promise<void> {
  for (const hash of OPEN_PAGES) {
    await goTo(page, hash)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page
      .getByText(/^Loading/)
      .first()
      .waitFor({ state: 'detached' })
    await check(hash)
  }
}

describe('a page zoomed to 400 %', () => {
  it('has no bars that stay in view, and a field of the form fits', async () => {
    const page = await open('#/workers/mailer/m-1?tab=config', { viewport: { width: 360, height: 225 } })
    await page.getByRole('textbox', { name: 'host' }).fill('smtp.new.example.net')
    await page.getByRole('button', { name: 'Review 1 change' }).waitFor()
    await onEachPage(page, async (hash) => {
      expect([hash, await page.evaluate(STAYING)]).toEqual([hash, []])
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 360])
    })
  })
})

describe('a page on paper', () => {
  it('has its content from the top, no buttons and bars, and charts that fit', async () => {
    const page = await open('#/workers', { colorScheme: 'dark' })
    const paper = { width: 718, height: 1_000 }
    const visible = `[...document.querySelectorAll('button, .button, .ranges, .top, .tabs, .filter, .config-bar')]
      .filter((each) => each.checkVisibility() && !each.closest('th, .group-row'))
      .map((each) => each.outerHTML)`
    const charts = `[...document.querySelectorAll('.plot canvas')].filter((each) => each.offsetWidth >
      each.closest('.panel').clientWidth || each.offsetHeight < 60).length`
    await onEachPage(page, async (hash) => {
      if (hash === '#/') await page.locator('.plot canvas').first().waitFor()
      await page.emulateMedia({ media: 'print' })
      expect([hash, await page.evaluate(visible)]).toEqual([hash, []])
      expect([hash, await page.evaluate('getComputedStyle(document.body).backgroundColor')]).toEqual([
        hash,
        'rgb(255, 255, 255)',
      ])
      if (hash.startsWith('#/workers?')) {
        const { y = 0 } = (await page.getByRole('row').nth(1).boundingBox()) ?? {}
        expect(y).toBeLessThan(200)
        expect(await page.evaluate("getComputedStyle(document.querySelector('.scroller')).overflow")).toBe('visible')
      }
      await page.setViewportSize(paper)
      expect([hash, await page.evaluate(charts)]).toEqual([hash, 0])
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, paper.width])
      await page.screenshot({ path: screenshot(`print-${hash.replaceAll(/\W/g, '')}`), fullPage: true })
      await page.emulateMedia({ media: 'screen' })
      await page.setViewportSize({ width: 1_280, height: 800 })
    })
  })
})
