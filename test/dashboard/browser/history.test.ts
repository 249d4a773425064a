// The history of queues in a real browser: ranges in the address, charts, and their figures as tables (D166).
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { QueueHistoryBody, QueueHistoryStep } from '../../../src/protocol/index.ts'
import { BusyFleet } from './busy-fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const fleet = new BusyFleet()

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await fleet.start({ isAlone: true })
}, 60_000)
afterAll(() => fleet.stop())

/** A month with days and nights, an incident and a gap. */
function stepAt(ts: number, step: number, share: number): QueueHistoryStep {
  const day = 1 + Math.sin((ts / 86_400) * 2 * Math.PI) * 0.6
  const isIncident = share > 0.7 && share < 0.75
  const submitted = Math.round(20 * step * day)
  const failed = isIncident ? Math.round(submitted * 0.6) : Math.round(submitted * 0.01)
  const waiting = Math.round(isIncident ? 12_000 : 300 * day)
  return {
    ts,
    seconds: step,
    submitted,
    done: submitted - failed,
    failed,
    died: Math.round(failed / 3),
    cancelled: 0,
    waiting,
    high: Math.round(waiting * 0.1),
    normal: Math.round(waiting * 0.7),
    low: Math.round(waiting * 0.2),
    in_flight: 40,
    scheduled: 2,
    dead: 7,
    oldest_seconds: isIncident ? 2_400 : 12 * day,
    wait: { count: submitted, p50: 0.4 * day, p95: 3 * day, p99: isIncident ? 900 : 9 * day },
    run: { count: submitted, p50: 0.025, p95: 0.178, p99: 0.891 },
  }
}

/** Fulfils reads of the history with steps up to now. @returns the queries of the reads. */
async function withHistory(page: Page): Promise<string[]> {
  const queries: string[] = []
  const stepsOf = (seconds: number, step: number, scale: number): readonly QueueHistoryStep[] => {
    const to = step * (Math.floor(Date.now() / 1_000 / step) + 1)
    const count = Math.floor(seconds / step)
    return Array.from({ length: count }, (_, at) => stepAt(to - (count - at) * step, step * scale, at / count)).filter(
      (_, at) => at / count < 0.4 || at / count > 0.45,
    )
  }
  await page.route(/\/history\?/, async (route) => {
    const url = new URL(route.request().url())
    if (url.pathname.includes('/workers/')) return route.fallback()
    queries.push(url.search)
    const [from, seconds, step] = ['from', 'seconds', 'step'].map((name) => Number(url.searchParams.get(name))) as [
      number,
      number,
      number,
    ]
    const to = step * (Math.floor(Date.now() / 1_000 / step) + 1)
    const range = { from: from === 0 ? to - seconds : from, to, step }
    const isFleet = url.pathname.endsWith('/api/v1/history')
    const types = Object.fromEntries(
      ['mailer', 'resizer', 'webhook'].map((type, at) => [type, stepsOf(seconds, step, 1 / (at + 1) ** 2)]),
    )
    await route.fulfill({
      json: isFleet ? { ...range, automations: types } : { ...range, steps: stepsOf(to - range.from, step, 1) },
    })
  })
  return queries
}

/** The page with a history of a month. */
async function open(hash: string): Promise<{ readonly page: Page; readonly queries: string[] }> {
  const { page } = await signedIn(`${fleet.url}/`, '#/settings')
  const queries = await withHistory(page)
  await page.goto(`${fleet.url}/${hash}`)
  return { page, queries }
}

describe('the history of a queue', () => {
  it('has a range in the address, charts of rates, waiting tasks and times, and their figures', async () => {
    const { page, queries } = await open('#/tasks/mailer')
    const history = page.getByRole('region', { name: 'History' })
    const ranges = history.getByRole('navigation', { name: 'Time range' })
    await history.getByText('Tasks a minute', { exact: true }).waitFor()
    expect(queries).toEqual(['?seconds=3600&step=30'])
    await ranges.getByRole('link', { name: 'last 7 days' }).click()
    await history.getByRole('heading', { name: 'History last 7 days' }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/tasks/mailer?range=7d')
    await page.reload()
    await history.getByText('Run time', { exact: true }).waitFor()
    expect(await ranges.locator('[aria-current]').innerText()).toMatch(/^7d/)
    expect(queries.at(-1)).toBe('?seconds=604800&step=3600')
    const names = await history.locator('figcaption > bdi').allInnerTexts()
    expect(names).toEqual([
      'Tasks a minute',
      'Waiting tasks',
      'Oldest waiting task',
      'Wait until the first run',
      'Run time',
    ])
    const run = history.getByRole('figure').filter({ hasText: 'Run time' })
    await run.getByText('Figures').click()
    const figures = run.getByRole('table', { name: 'Figures of Run time' })
    expect(await figures.getByRole('row', { name: /^p95/ }).innerText()).toMatch(/p95\s+178 ms\s+178 ms/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      run.getByRole('button', { name: 'Save as CSV' }).click(),
    ])
    expect(readFileSync(await download.path(), 'utf8')).toMatch(/^"time","p50 \(seconds\)"/)
    await run.getByText('Figures').click()
    await history.scrollIntoViewIfNeeded()
    await look(page, 'queue-history')
  })

  it('is read as a whole once, and then only what is new', async () => {
    const { page, queries } = await open('#/tasks/mailer')
    await page.getByText('Tasks a minute', { exact: true }).waitFor()
    const again = page.waitForResponse(/\/history\?/)
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))") // Reads again.
    const { from, to, steps } = (await (await again).json()) as QueueHistoryBody
    expect(queries).toEqual(['?seconds=3600&step=30', `?from=${from}&step=30`])
    expect(to - from).toBeLessThanOrEqual(180)
    expect(steps.length).toBeLessThanOrEqual(6)
    const figure = page.getByRole('figure').filter({ hasText: 'Tasks a minute' })
    await figure.getByText('Figures').click()
    await figure.getByText('Show data').click()
    expect(await figure.getByRole('table', { name: 'Newest values of Tasks a minute' }).getByRole('row').count()).toBe(
      21,
    )
  })

  it('is empty, with a reason, until the first sample', async () => {
    const { page } = await open('#/settings')
    await page.route(/\/history\?/, (route) => route.fulfill({ json: { from: 0, to: 900, step: 15, steps: [] } }))
    await page.goto(`${fleet.url}/#/tasks/mailer?range=15m`)
    await page.getByText('No history yet').waitFor()
  })
})

describe('the overview', () => {
  it('shows what went into the busiest queues, was done and failed, in a range of the address', async () => {
    const { page, queries } = await open('#/')
    const card = page.getByRole('region', { name: 'Throughput' })
    await card.getByRole('link', { name: 'mailer' }).waitFor()
    expect(await card.locator('figcaption > a').allInnerTexts()).toEqual(['mailer', 'resizer', 'webhook'])
    expect(queries).toEqual(['?seconds=3600&step=60'])
    await card.getByRole('link', { name: 'last 24 hours' }).click()
    await page.waitForURL(/#\/\?range=24h$/)
    await card.getByRole('link', { name: 'mailer' }).waitFor()
    await look(page, 'overview-history')
    await card.getByRole('link', { name: 'resizer' }).click()
    await page.waitForURL(/#\/tasks\/resizer\?range=24h$/)
  })
})
