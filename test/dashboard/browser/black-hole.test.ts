// The black-hole worker: one worker of several whose config makes it fail each task immediately, so that it takes most
// tasks of the queue. The page and `muster why` name it with its cause within 20 s (D152).
import { afterEach, beforeEach, describe, expect, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { startMuster } from '../../kit/built-command.ts'
import { eventually } from '../../kit/index.ts'
import { FleetFixture } from './fleet-fixture.ts'
import { it } from './it.ts'
import { CHROMIUM, look } from './watched.ts'

const TYPE = 'http-request'
const BAD = 'img-04'
const NAMED_WITHIN_MS = 20_000
const SUBMIT_EVERY_MS = 100
const TASKS_PER_SUBMIT = 20
/** What both show first. */
const NAMED = /img-04 has failed every task since its config changed .*\(allow_ports, by .*\): .*not in allow_ports/

jest.setTimeout(180_000)

let fixture: FleetFixture
let traffic: NodeJS.Timeout | undefined
const submits = new Set<Promise<unknown>>()

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM === undefined) return
  await fixture.start()
  await Promise.all(['img-01', 'img-02', 'img-03', BAD].map((id) => fixture.startWorker(TYPE, id, { slots: 2 })))
})
afterEach(async () => {
  clearInterval(traffic)
  await Promise.all(submits)
  await fixture.stop()
})

/** Submits tasks until the test ends; those that fail die immediately. */
function keepSubmitting(): void {
  const { fleet } = fixture
  const task = { payload: { url: `${fleet.url}/healthz` }, max_attempts: 1 }
  const body = { tasks: Array.from({ length: TASKS_PER_SUBMIT }, () => task) }
  traffic = setInterval(() => {
    const submit = fleet.call('POST', `/automations/${TYPE}/tasks/batch`, body).catch(() => undefined)
    submits.add(submit)
    void submit.then(() => submits.delete(submit))
  }, SUBMIT_EVERY_MS)
}

/** Runs the built command. @returns what it printed. */
async function musterWhy(...words: readonly string[]): Promise<string> {
  const ran = startMuster(['why', ...words], { SVC_MASTER_URL: fixture.fleet.url, SVC_API_TOKEN: ADMIN_TOKEN })
  expect(await ran.exited).toBe(0)
  return ran.output()
}

/** Repeats the command until its first line matches. @returns when it did. */
async function commandNames(): Promise<number> {
  await eventually(
    'muster why names the worker',
    async () => NAMED.test((await musterWhy(TYPE)).split('\n')[0] ?? ''),
    { withinMs: NAMED_WITHIN_MS },
  )
  return performance.now()
}

const firstCause = (page: Page) => page.locator('.why .causes li').first()

async function pageNames(page: Page): Promise<number> {
  await firstCause(page).filter({ hasText: NAMED }).waitFor({ timeout: NAMED_WITHIN_MS })
  return performance.now()
}

describe('a worker whose config makes it fail each task', () => {
  it('is named with its cause within 20 s, by the page and by muster why (D152)', async () => {
    keepSubmitting()
    const page = await fixture.signedIn(`#/tasks/${TYPE}`)
    await page.getByText('Why?').first().click()
    await firstCause(page).waitFor()
    expect(await firstCause(page).textContent()).not.toContain(BAD)

    const startMs = performance.now()
    await fixture.fleet.configure(TYPE, BAD, { allow_ports: [1] })
    const namedMs = await Promise.all([pageNames(page), commandNames()])
    for (const ms of namedMs) expect(ms - startMs).toBeLessThan(NAMED_WITHIN_MS)

    await firstCause(page)
      .filter({ hasText: /[\d,]+ runs? failed in the last .*, none succeeded; [\d,]+ tasks? died/ })
      .waitFor()
    expect(await firstCause(page).textContent()).toContain('All failed with the same error.')
    await look(page, 'why-black-hole')
    expect(await firstCause(page).getByRole('link').allTextContents()).toEqual([
      'Edit its config',
      'Show the change',
      'Drain it',
      'Replay the dead tasks',
    ])

    await page.goto(`${fixture.fleet.url}/#/tasks`)
    await page.locator('.why-short').filter({ hasText: NAMED }).waitFor()
    await look(page, 'why-black-hole-queues')

    await page.locator('.why-short').getByRole('link', { name: 'Show the change' }).click()
    await page.getByText('allow_ports').first().waitFor()
    await page.locator('.worker-title').getByText('Why?').click()
    await firstCause(page)
      .filter({ hasText: /^.?It has failed every task since its config changed/ })
      .waitFor()
    expect(await firstCause(page).textContent()).not.toContain('not in allow_ports')
    await look(page, 'why-black-hole-worker')
    await firstCause(page).getByRole('link', { name: 'Drain it' }).click()
    await page.getByRole('heading', { name: `Drain ${TYPE}/${BAD}?` }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('heading', { name: `Drain ${TYPE}/${BAD}?` }).waitFor({ state: 'detached' })

    expect(await musterWhy(TYPE, BAD)).toMatch(/^✗ It has failed every task since .*\n {4}edit its config /)
    await fixture.fleet.configure(TYPE, BAD, { allow_ports: [Number(new URL(fixture.fleet.url).port)] })
    await eventually('a fixed worker is not named', async () => !(await musterWhy(TYPE)).includes(BAD), {
      withinMs: NAMED_WITHIN_MS,
    })
  })
})
