// The dashboard in a real browser, against a master and workers in their own processes.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signIn, storedValues } from './watched.ts'
import { FleetFixture } from './fleet-fixture.ts'

let fixture: FleetFixture

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM !== undefined) await fixture.start()
})

afterEach(() => fixture.stop())

const HOSTILE = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>\u202Eevil'

describe('signing in', () => {
  it('keeps the user signed in until they sign out', async () => {
    const page = await fixture.signedIn()
    expect(await storedValues(page)).toEqual([ADMIN_TOKEN])
    await page.reload()
    await page.getByText('No worker has registered yet.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor()
    expect(await storedValues(page)).toEqual([])
  })
})

describe('hostile text', () => {
  it('of workers and clients is shown as text and never executed', async () => {
    const socket = await fixture.speakAs('http-request', '<b onmouseover=alert(1)>w', [
      { type: 'state', state: 'ERROR', config_gen: 0, ts: 1, last_error: HOSTILE + 'x'.repeat(4_000) },
    ])
    const page = await fixture.signedIn()
    await page.getByText('<img src=x onerror=').first().waitFor()
    await page.goto(`${fixture.fleet.url}/#/workers`)
    await page.getByRole('table').getByText('<img src=x onerror=').waitFor()
    await look(page, 'hostile-workers')
    await page.getByRole('link', { name: '<b onmouseover=alert(1)>w' }).click()
    await page.getByText('<script>window.ran = true</script>').filter({ visible: true }).first().waitFor()
    await page.goto(`${fixture.fleet.url}/#/output/${encodeURIComponent(HOSTILE)}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await page.evaluate('[typeof window.ran, document.querySelectorAll("img, main script").length]')).toEqual([
      'undefined',
      0,
    ])
    socket.close()
  })
})

describe('a master that restarts', () => {
  it('is reconnected automatically, with its workers', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.signedIn('#/workers')
    await page.getByRole('link', { name: 'w-1' }).waitFor()
    await fixture.fleet.stopMaster()
    await page.getByText('The master has not responded since').waitFor()
    await fixture.start()
    await page.getByText('The master has not responded since').waitFor({ state: 'detached' })
    await page.locator('button.live').getByText(/live/).waitFor({ timeout: 10_000 })
    await page.getByRole('row').filter({ hasText: 'w-1' }).getByText('RUNNING').waitFor({ timeout: 45_000 })
  })
})

describe('the page', () => {
  it('fits a screen of 360 pixels on every page', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.signedIn('', ADMIN_TOKEN, { viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
    for (const hash of [
      '#/',
      '#/workers',
      '#/workers/http-request/w-1',
      '#/tasks/http-request',
      '#/output/http-request',
      '#/pools',
      '#/automations',
      '#/settings',
    ]) {
      await page.goto(`${fixture.fleet.url}/${hash}`)
      await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 360])
    }
    await page.getByLabel('More pages').click()
    await page.getByRole('link', { name: 'Automations' }).last().click()
    await page.getByRole('heading', { level: 1, name: /Automation/ }).waitFor()
  })

  it('works below a path prefix', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.open('', {}, await fixture.proxied())
    await signIn(page, ADMIN_TOKEN)
    await page.locator('button.live').getByText(/live/).waitFor()
    for (const name of ['Workers', 'Tasks', 'Output', 'Pools', 'Automations', 'Settings']) {
      await page.getByRole('link', { name, exact: true }).first().click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
    }
    expect(await page.evaluate('document.styleSheets.length')).toBeGreaterThan(0)
    await page.getByRole('link', { name: 'Workers', exact: true }).first().click()
    await page.getByRole('link', { name: 'w-1', exact: true }).click()
    await page.getByRole('figure').first().waitFor() // Parsed by the web worker script.
    await page.getByRole('link', { name: 'Config', exact: true }).click()
    await page.getByLabel('slots', { exact: true }).fill('2')
    await page.getByRole('button', { name: /^Review/ }).click()
    await page.getByRole('button', { name: /^Save \d/ }).click()
    await page.getByText(/is saved\. The worker applied it/).waitFor()
  })

  it('is served with a content security policy that allows only its own files', async () => {
    const { headers } = await fetch(`${fixture.fleet.url}/`)
    const policy = headers.get('content-security-policy') ?? ''
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      expect(policy).toContain(rule)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })
})
