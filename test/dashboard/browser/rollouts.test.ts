// The rollouts of a type in a real browser, against a real master that has the reports of an operator (D148).
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { eventually } from '../../kit/index.ts'
import { BusyFleet } from './busy-fleet.ts'
import { tabTo } from './in-page.ts'
import { it } from './it.ts'
import { READ_TOKEN } from './page-master.ts'
import { reportOf } from './rollout-reports.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const PAGE = '#/automations/mailer'
const CLAIM = 'kubernetes:prod/fleetworkersets/crawlers#1a2b3c4d'
/** Below the interval of the polls, which is 4.5 s at least. */
const BEFORE_A_POLL_MS = 4_000
let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start({ isAlone: true })
})
afterEach(() => fleet.stop())

async function open(hash = PAGE, token = READ_TOKEN): Promise<Page> {
  return (await signedIn(`${fleet.url}/`, hash, token)).page
}

const cardOf = (page: Page, name: string): Locator => page.getByRole('region', { name: `Rollout of ${name}` })

/** The cells of each gate. */
async function gatesOf(card: Locator): Promise<readonly string[]> {
  const rows = await card.getByRole('table', { name: 'Gates' }).locator('tbody tr').all()
  return Promise.all(rows.map(async (row) => (await row.locator('th, td').allInnerTexts()).join(' | ')))
}

describe('the card of a rollout', () => {
  it('shows what happens, what to do next, the gates and the workers to look at', async () => {
    await fleet.add('mailer', 40)
    await fleet.apply('mailer', '91bc02f7a1c4', CLAIM, ['m-1', 'm-2', 'm-3'])
    await fleet.apply('mailer', '7f3ac1d09b2e', CLAIM, ['m-4'])
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers'))
    await fleet.putRollout('mailer', 'set-2', reportOf('senders', { phase: 'Complete', gates: [] }))
    const page = await open()
    const card = cardOf(page, 'crawlers')
    await card.getByText('Rolling back').waitFor()
    await card.getByText('4 workers must still acknowledge the current revision').waitFor()
    await card.getByText('started 8 min ago by an edit of the set').waitFor()
    await card.getByText('/proxy/timeout_seconds').waitFor()
    expect(await gatesOf(card)).toEqual([
      'failed workers | 0 of 24 | – | 0 | ✓ passed',
      expect.stringMatching(
        /^failure rate \| 31\.0 % \(412 runs\) \| 2\.1 % \(9,871 runs\) \| \+2\.0 points \| ✗ failed/,
      ),
      'duration of a run | 1.9 s (412 runs) | 1.8 s (9,871 runs) | x 1.3 | ✓ passed',
      expect.stringMatching(/^counter http_5xx \| – \| – \| – \| ○ no runs/),
    ])
    expect(await card.getByRole('link', { name: 'm-1' }).getAttribute('href')).toBe('#/workers/mailer/m-1')
    await card.getByText('Show 3 more').click()
    await card.getByRole('link', { name: 'm-8' }).waitFor()
    expect(await card.getByRole('button').allInnerTexts()).toEqual(['Copy'])
    await page.getByRole('region', { name: 'Complete rollouts' }).getByText('senders').waitFor()
    await look(page, 'rollout')
    await card.getByRole('link', { name: /^3 of 239 workers have revision/ }).click()
    await page.getByText('3 of 40').waitFor()
    expect(page.url()).toContain('revision%3A91bc02f7a1c4')
    await page.getByLabel('Filter workers').fill('set:crawlers')
    await page.getByText('4 of 40').waitFor()
    await page
      .getByRole('row', { name: /Kubernetes prod\/crawlers/ })
      .first()
      .waitFor()
  })

  it('leads to the old and the new values in the history of an updated worker', async () => {
    await fleet.add('mailer', 3)
    await fleet.apply('mailer', '91bc02f7a1c4', CLAIM, ['m-2'])
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers'))
    const page = await open()
    const link = cardOf(page, 'crawlers').getByRole('link', { name: 'Show difference' })
    await eventually('the link names the updated worker', async () =>
      ((await link.getAttribute('href')) ?? '').startsWith('#/workers/mailer/m-2'),
    )
    await link.click()
    await page.getByRole('table', { name: 'Generations of the config' }).getByText('91bc02f7a1c4').waitFor()
    expect(page.url()).toContain('tab=history')
  })

  it('follows the phase by events, and disappears with the report', async () => {
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers', { phase: 'Baking', failed: [] }))
    const page = await open()
    await cardOf(page, 'crawlers').getByText('Baking').waitFor()
    await page.getByRole('button', { name: /live/ }).waitFor()
    await page.waitForResponse('**/mailer/rollouts')
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers', { phase: 'RolledBack' }))
    await cardOf(page, 'crawlers').getByText('Rolled back').waitFor({ timeout: BEFORE_A_POLL_MS })
    await page.waitForResponse('**/mailer/rollouts')
    await fleet.removeRollout('mailer', 'set-1')
    await cardOf(page, 'crawlers').waitFor({ state: 'detached', timeout: BEFORE_A_POLL_MS })
  })

  it('says that the report is old, and counts the workers of each revision anyway', async () => {
    await fleet.add('mailer', 5)
    await fleet.apply('mailer', '91bc02f7a1c4', CLAIM, ['m-1', 'm-2'])
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers', { phase: 'Writing', failed: [] }))
    const page = await open('#/')
    await page.route('**/mailer/rollouts', async (route) => {
      // With the tag of the last response it would be a 304 without a body.
      const { 'if-none-match': _tag, ...headers } = route.request().headers()
      const response = await route.fetch({ headers })
      const { rollouts } = (await response.json()) as { rollouts: { reported_at: number }[] }
      await route.fulfill({
        response,
        json: { rollouts: rollouts.map((each) => ({ ...each, reported_at: each.reported_at - 240 })) },
      })
    })
    await page.goto(`${fleet.url}/${PAGE}`)
    const card = cardOf(page, 'crawlers')
    await card.getByText('Operator report is 4 min old.').waitFor()
    await card.getByText('2 of 239 workers have revision').waitFor()
    await fleet.apply('mailer', '91bc02f7a1c4', CLAIM, ['m-3'])
    await card.getByText('3 of 239 workers have revision').waitFor()
  })

  it('copies the command with the keyboard', async () => {
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers'))
    const page = await open()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await tabTo(page, cardOf(page, 'crawlers').getByRole('button', { name: 'Copy' }))
    await page.keyboard.press('Enter')
    await page.getByText('Copied', { exact: true }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('muster rollout retry -n prod crawlers')
  })

  it('shows text of the operator as text, and fits a narrow screen', async () => {
    const hostile = '<img src=x onerror=alert(1)>\u202Eevil'
    const worst = [{ worker: 'w'.repeat(200), reason: 'WorkerError', message: hostile }]
    const change = {
      message: hostile,
      worst,
      next: { text: hostile, command: `muster ${'x'.repeat(500)}` },
      changed_fields: [`/${'y'.repeat(100)}`],
    }
    await fleet.putRollout('mailer', 'set-1', reportOf('z'.repeat(250), { ...change, managed_by: CLAIM }))
    const page = await open()
    await page.getByText('Rollout of zzz').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    await look(page, 'rollout-hostile')
  })

  it('is absent without a rollout', async () => {
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers'))
    const page = await open('#/automations/thumbnail')
    await Promise.all([page.waitForResponse('**/thumbnail/rollouts'), page.reload()])
    await page.getByRole('heading', { name: 'Config' }).waitFor()
    expect(await page.getByText('Rollout').count()).toBe(0)
  })
})

describe('a rollout that needs a person', () => {
  it('is listed on the overview with a link to its card', async () => {
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers', { phase: 'Baking', failed: [] }))
    const page = await open('#/', ADMIN_TOKEN)
    await page.getByText('No problems').waitFor()
    await fleet.putRollout('mailer', 'set-2', reportOf('senders', { phase: 'RolledBack' }))
    await fleet.putRollout('mailer', 'set-1', reportOf('crawlers', { phase: 'Baking', paused: true, failed: [] }))
    const items = page.locator('.attention li')
    await eventually('both are listed', async () => (await items.count()) === 2)
    expect(await items.locator('.attention-text').allInnerTexts()).toEqual([
      expect.stringMatching(
        /^prod\/\w+ rollout (?:is paused|was rolled back) in stage 2 of 3\s+began (?:just now|\d+ \w+ ago)$/,
      ),
      expect.stringMatching(
        /^prod\/\w+ rollout (?:is paused|was rolled back) in stage 2 of 3\s+began (?:just now|\d+ \w+ ago)$/,
      ),
    ])
    await page.getByText('Attention: 2 rollouts need attention.').waitFor()
    await look(page, 'overview-rollouts')
    await items.filter({ hasText: 'senders' }).getByRole('link', { name: 'Show rollout' }).click()
    await cardOf(page, 'senders').getByText('Rolled back').waitFor()
  })
})
