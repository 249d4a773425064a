// Two tabs, of production and of a test installation, differ in name and color on every page.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { it } from './it.ts'
import { ManyWorkers } from './many-workers.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const production = new ManyWorkers()
const unnamed = new ManyWorkers()

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await production.start({ environment: { name: 'production eu', color: 'red' }, alertAfterSeconds: 1 })
  await unnamed.start()
  for (const fleet of [production, unnamed]) await fleet.add('mailer', 60)
})
afterAll(() => Promise.all([production.stop(), unnamed.stop()]))

describe('the environment', () => {
  it('is shown in the header, the title and the icon of the tab, and on buttons that delete', async () => {
    const { page } = await signedIn(`${production.url}/`, '#/workers')
    await page.getByTitle('Environment: production eu').waitFor()
    const background = "getComputedStyle(document.querySelector('.environment')).backgroundColor"
    expect(await page.evaluate(background)).toBe('rgb(179, 38, 30)')
    await page.getByRole('link', { name: 'm-1', exact: true }).waitFor()
    expect(await page.title()).toMatch(/^(\(\d+\) )?Workers · production eu · Muster$/)
    const icon = await page.locator('link[rel="icon"]').getAttribute('href')
    expect(await (await page.request.get(new URL(icon ?? '', page.url()).href)).text()).toContain('fill="#b3261e"')
    await page.goto(`${production.url}/#/workers/mailer/m-3`)
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByRole('button', { name: 'Forget 1 worker in production eu' }).waitFor()
    await look(page, 'environment')
  })

  it('has the number of firing alerts beside it, whose list is on the overview', async () => {
    const { page } = await signedIn(`${production.url}/`, '#/settings')
    await page.getByRole('link', { name: /^\d+ alerts? firing$/ }).click()
    const alerts = page.getByRole('region', { name: /^Alerts/ })
    await alerts
      .getByRole('listitem')
      .filter({ hasText: /in ERROR/ })
      .getByText(/^began/)
      .first()
      .waitFor()
    await look(page, 'alerts')
  })

  it('is not shown if the master has none', async () => {
    const { page } = await signedIn(`${unnamed.url}/`, '#/workers')
    await page.getByRole('link', { name: 'm-1', exact: true }).waitFor()
    expect(await page.title()).toMatch(/Workers · Muster$/)
    expect(await page.locator('.environment').count()).toBe(0)
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toMatch(/icon-[\w-]{8}\.svg$/)
  })
})
