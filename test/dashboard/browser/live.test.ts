// Failures seen by the page: it shows a message, keeps the last data with its age and recovers automatically.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { it } from './it.ts'
import { ManyWorkers } from './many-workers.ts'
import { CHROMIUM, look, openPage, signedIn, signIn } from './watched.ts'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'

const many = new ManyWorkers()
const open = async (hash = '#/workers'): Promise<Page> => (await signedIn(`${many.url}/`, hash)).page
const badge = (page: Page, text: string | RegExp, options: { readonly timeout?: number } = {}) =>
  page.locator('button.live').getByText(text).waitFor(options)

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await many.start()
  await many.add('mailer', 30)
}, 60_000)
afterAll(() => many.stop())

describe('a master that does not respond', () => {
  it('leaves the last data with its age, and is reconnected within 5 s of its return', async () => {
    const page = await open()
    await badge(page, /live/)
    await page.getByRole('link', { name: 'm-3', exact: true }).waitFor()
    await page.locator('.reading').first().waitFor({ state: 'detached' })
    await page.context().setOffline(true)
    await badge(page, /offline since/)
    await page.getByText('The master has not responded since').waitFor()
    expect(await page.getByRole('link', { name: 'm-3', exact: true }).isVisible()).toBe(true)
    expect(await page.locator('main .problem').count()).toBe(1)
    await look(page, 'master-offline')
    await page.context().setOffline(false)
    await page.getByText('The master has not responded since').waitFor({ state: 'detached', timeout: 12_000 })
  })

  it('is shown differently from one whose store is unavailable', async () => {
    const page = await open('')
    await page.getByText(/^(Attention|All)/).waitFor()
    await page.route('**/api/v1/overview', (route) =>
      route.fulfill({
        status: 503,
        headers: { 'retry-after': '2', 'muster-request-id': 'r-17' },
        json: { detail: 'the backend is not available' },
      }),
    )
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await page.getByText('Temporarily unavailable:').waitFor()
    await page.getByText('request r-17').waitFor()
    await page.getByText('Showing data from').waitFor()
    await look(page, 'store-unavailable')
    await page.unroute('**/api/v1/overview')
    const recovered = page.getByText('Temporarily unavailable:').waitFor({ state: 'detached' })
    await page
      .getByRole('button', { name: 'Retry now' })
      .click({ timeout: 5_000 })
      .catch(() => undefined) // On a busy machine, the next poll may happen first.
    await recovered
  })
})

describe('an interrupted event stream', () => {
  it('is replaced by polling with a notice, and reconnects without missing a change', async () => {
    const page = await open('')
    await badge(page, /live/)
    await page.route('**/api/v1/events?*', (route) => route.abort())
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
    await page.locator('button.live').click()
    await badge(page, /paused since/)
    await page.locator('button.live').click()
    await badge(page, 'polling')
    await many.change('mailer', [4], 'ERROR', 'while the stream was down')
    await page.unroute('**/api/v1/events?*')
    await badge(page, /live/, { timeout: 40_000 }) // The page waits up to 30 s before it connects again.
    await page.goto(`${many.url}/#/workers?q=error:yes`)
    await page.locator('.worker-rows').getByText('while the stream was down').waitFor()
    await many.change('mailer', [4], 'RUNNING')
  })
})

describe('a tab that was hidden for ten minutes', () => {
  it('sends no request while hidden, and is up to date within 5 s of being shown', async () => {
    const { page, asked } = await signedIn(`${many.url}/`, '#/workers')
    await badge(page, /live/)
    await page.clock.install({ time: Date.now() })
    const show = (state: string): Promise<void> =>
      page.evaluate(
        "void Object.defineProperty(document, 'visibilityState', { configurable: true, value: " +
          `'${state}' }), document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await show('hidden')
    await page.clock.fastForward('00:30')
    await page.waitForTimeout(500) // Lets requests in flight finish.
    const before = asked.length
    await many.change('mailer', [6], 'ERROR', 'while the tab was hidden')
    await page.clock.fastForward('10:00')
    await page.waitForTimeout(500)
    expect(asked.slice(before)).toEqual([])
    await show('visible')
    await page.getByText('while the tab was hidden').waitFor({ timeout: 5_000 })
    await badge(page, /live/)
    await many.change('mailer', [6], 'RUNNING')
  })
})

describe('a paused page', () => {
  it('does not change until it is resumed', async () => {
    const page = await open()
    await page.getByRole('link', { name: 'm-5', exact: true }).waitFor()
    await page.keyboard.press('p')
    await badge(page, /paused since/)
    await many.change('mailer', [5], 'ERROR', 'unseen while paused')
    await page.waitForTimeout(1_500) // Longer than the batching interval of events.
    expect(await page.getByText('unseen while paused').count()).toBe(0)
    await page.keyboard.press('p')
    await page.getByText('unseen while paused').waitFor()
    await many.change('mailer', [5], 'RUNNING')
  })
})

describe('a clock that is wrong by an hour', () => {
  it("causes a notice, and ages use the master's clock", async () => {
    const { page } = await openPage(`${many.url}/`)
    await page.clock.install({ time: Date.now() + 3_600_000 })
    await page.reload()
    await signIn(page, ADMIN_TOKEN)
    await page.goto(`${many.url}/#/workers`)
    await page.getByText('clock is').waitFor()
    await page.getByText("ahead of the master's").waitFor()
    expect(await page.locator('td.w-seen').first().innerText()).toMatch(/^(now|\d+ s|\d min)$/)
  })
})

describe('an unknown URL', () => {
  it('shows "not found", for a page as well as for a worker', async () => {
    const page = await open('#/nowhere')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await look(page, 'no-such-page')
    await page.goto(`${many.url}/#/workers/mailer/unknown-worker`)
    await page.getByText('Worker not found').waitFor()
  })
})

describe('the page on unusual screens', () => {
  it('reflows at 400 % zoom, and works with forced colours and reduced motion', async () => {
    const page = await open('')
    await page.getByText(/^(Attention|All)/).waitFor()
    await page.setViewportSize({ width: 320, height: 256 })
    for (const hash of [
      '#/',
      '#/workers',
      '#/workers?q=state:error',
      '#/workers/mailer/m-7',
      '#/workers/mailer/m-7?tab=config',
      '#/tasks',
      '#/tasks/mailer',
      '#/tasks/mailer?tab=submit',
      '#/tasks/mailer?tab=dead',
      '#/output/mailer',
      '#/output/mailer?mode=peek',
      '#/pools/senders',
      '#/automations/mailer',
      '#/settings',
    ]) {
      await page.goto(`${many.url}/${hash}`)
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 320])
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
    await page.goto(`${many.url}/#/workers`)
    await page.getByRole('link', { name: 'm-3', exact: true }).waitFor()
    expect(await page.evaluate('getComputedStyle(document.querySelector("button.live")).transitionDuration')).toMatch(
      /^0s|none$/,
    )
  })
})
