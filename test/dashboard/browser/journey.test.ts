// The main use case (scenario 16) with real processes: an admin signs in, finds the failing worker and its cause, fixes
// the config, replays the dead tasks and watches them succeed.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signIn } from './watched.ts'
import { FleetFixture } from './fleet-fixture.ts'

const TASKS = 3
/** Limit for the time that the page needs, without the user's reading time. */
const LIMIT_MS = 30_000

let fixture: FleetFixture

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM === undefined) return
  await fixture.start()
  await fixture.startWorker('http-request', 'w-2', { allow_ports: [1] })
  for (let n = 0; n < TASKS; n += 1)
    await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
      payload: { url: `${fixture.fleet.url}/healthz?${n}` },
    })
  for (const id of ['w-1', 'w-3']) fixture.fleet.startWorker('http-request', id)
})
afterEach(() => fixture.stop())

const STEPS: readonly (readonly [name: string, step: (page: Page) => Promise<void>])[] = [
  [
    'finds it',
    async (page) => {
      await signIn(page, ADMIN_TOKEN)
      await page.getByText(/^Attention: 1 worker is in ERROR and 3 tasks are dead/).waitFor()
      await page.getByText('Why?').first().click()
      await page
        .getByRole('list', { name: 'Causes, most important first' })
        .first()
        .getByText(/^http-request\/w-2: In ERROR for .*allow_ports/)
        .waitFor()
    },
  ],
  [
    'sees why',
    async (page) => {
      await page.getByRole('link', { name: /^Open http-request\/w-2: in ERROR/ }).click()
      await page.getByText('Why?').click()
      await page
        .getByRole('list', { name: 'Causes, most important first' })
        .getByText(/In ERROR for .*allow_ports/)
        .waitFor()
    },
  ],
  [
    'fixes it',
    async (page) => {
      await page.getByRole('link', { name: 'Config', exact: true }).click()
      await page.getByRole('group', { name: 'allow_ports' }).getByLabel('item 1').fill(new URL(fixture.fleet.url).port)
      await page.getByRole('button', { name: 'Review 1 change' }).click()
      await page.getByRole('button', { name: 'Save 1 change' }).click()
      await page.getByText(/is saved\. The worker applied it after \d/).waitFor()
    },
  ],
  [
    'replays',
    async (page) => {
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('link', { name: /^Open http-request: 3 dead tasks/ }).click()
      await page.getByRole('button', { name: 'Replay 3…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Replay 3' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
      await page.getByText('No dead letters').waitFor()
    },
  ],
  [
    'sees the output',
    async (page) => {
      await page.getByRole('link', { name: 'Output' }).first().click()
      await page.getByRole('list', { name: 'Streams' }).getByRole('link', { name: 'http-request' }).click()
      await page
        .getByRole('table', { name: 'Newest entries' })
        .getByText('"status":200')
        .nth(TASKS - 1)
        .waitFor()
    },
  ],
  [
    'sees a healthy fleet',
    async (page) => {
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByText('All 3 workers are connected and up to date.').waitFor()
    },
  ],
]

describe('a fleet with one worker that fails', () => {
  it('is found, diagnosed and fixed, starting at sign-in', async () => {
    const page = await fixture.open()
    const laps: number[] = []
    for (const [name, step] of STEPS) {
      const from = performance.now()
      await step(page)
      laps.push(performance.now() - from)
      await look(page, `journey-${name.replaceAll(' ', '-')}`)
    }
    const took = laps.reduce((sum, lap) => sum + lap, 0)
    console.info(
      `${(took / 1_000).toFixed(1)} s: ` +
        STEPS.map(([name], index) => `${name} ${((laps[index] ?? 0) / 1_000).toFixed(1)} s`).join(', '),
    )
    expect(took).toBeLessThan(LIMIT_MS)
  })
})
