// The main use case with real processes, from the URL and a token: one worker fails each task that it takes since its
// config changed. A person on call finds it with its cause, fixes the config, replays all tasks that died of this error
// and watches them succeed: with a mouse, with the keyboard alone, and on a phone.
import { afterEach, beforeEach, describe, expect, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { DeadGroupsBody, OverviewBody } from '../../../src/protocol/index.ts'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { eventually } from '../../kit/index.ts'
import { FleetFixture } from './fleet-fixture.ts'
import { HANDS, type Hands } from './hands.ts'
import { it } from './it.ts'
import { CHROMIUM, look } from './watched.ts'

const TYPE = 'http-request'
const BAD = 'img-04'
const NAMED_WITHIN_MS = 20_000
/** Limit for all that the person does, without reading time. */
const LIMIT_MS = 180_000
const SUBMIT_EVERY_MS = 100
const TASKS_PER_SUBMIT = 20
/** More than a page of the list of dead tasks, so that a replay of what is listed would miss some. */
const DEAD_AT_LEAST = 600
/** Tasks that die of another error, and are not replayed. */
const OTHERS = 5

jest.setTimeout(240_000)

let fixture: FleetFixture
let traffic: NodeJS.Timeout | undefined
const submits = new Set<Promise<unknown>>()

beforeEach(async () => {
  fixture = new FleetFixture()
  if (CHROMIUM === undefined) return
  await fixture.start()
  await Promise.all(['img-01', 'img-02', 'img-03', BAD].map((id) => fixture.startWorker(TYPE, id, { slots: 2 })))
  await submit(OTHERS, { expect_status: [418] })
  await eventually('they are dead', async () => (await dead()).others === OTHERS)
  keepSubmitting()
})
afterEach(async () => {
  await stopSubmitting()
  await fixture.stop()
})

const ERROR = 'port <n> is not in allow_ports'

/** @returns how many died with the error of the bad config, and how many with others. */
async function dead(): Promise<{ readonly failed: number; readonly others: number }> {
  const { groups } = await fixture.fleet.ok<DeadGroupsBody>('GET', `/automations/${TYPE}/dead/groups`)
  const countOf = (isFailed: boolean): number =>
    groups.filter(({ pattern }) => (pattern === ERROR) === isFailed).reduce((sum, { count }) => sum + count, 0)
  return { failed: countOf(true), others: countOf(false) }
}

async function isIdle(): Promise<boolean> {
  const { queue } = (await fixture.fleet.ok<OverviewBody>('GET', '/overview')).automations[TYPE] ?? {}
  return queue != null && queue.high + queue.normal + queue.low + queue.in_flight === 0
}

/** Submits tasks that die of their first failure. */
function submit(count: number, more: object = {}): Promise<unknown> {
  const task = { payload: { url: `${fixture.fleet.url}/healthz`, ...more }, max_attempts: 1 }
  return fixture.fleet.ok('POST', `/automations/${TYPE}/tasks/batch`, {
    tasks: Array.from({ length: count }, () => task),
  })
}

function keepSubmitting(): void {
  traffic = setInterval(() => {
    const sent = submit(TASKS_PER_SUBMIT).catch(() => undefined)
    submits.add(sent)
    void sent.then(() => submits.delete(sent))
  }, SUBMIT_EVERY_MS)
}

async function stopSubmitting(): Promise<void> {
  clearInterval(traffic)
  await Promise.all(submits)
}

interface OnCall extends Hands {
  readonly page: Page
}

async function signIn({ page, press, type }: OnCall): Promise<void> {
  await type(page.getByLabel('Token', { exact: true }), ADMIN_TOKEN)
  await press(page.getByRole('button', { name: 'Sign in' }))
}

const mainCause = (page: Page) => page.getByRole('list', { name: 'Main cause' })

async function readCause({ page }: OnCall): Promise<void> {
  await mainCause(page)
    .getByText(
      /^http-request\/img-04 has failed every task since its config changed .*\(allow_ports, by .*not in allow_ports/,
    )
    .waitFor({ timeout: NAMED_WITHIN_MS })
}

async function fixConfig({ page, press, type }: OnCall): Promise<void> {
  await press(mainCause(page).getByRole('link', { name: 'Edit its config' }))
  const port = new URL(fixture.fleet.url).port
  await type(page.getByRole('group', { name: 'allow_ports' }).getByLabel('item 1'), port)
  await press(page.getByRole('button', { name: 'Review 1 change' }))
  await press(page.getByRole('button', { name: 'Save 1 change' }))
  await page.getByText(/is saved\. The worker applied it after \d/).waitFor()
}

/** Number of tasks that the person replays. */
let replayed = 0

async function replay({ page, press }: OnCall): Promise<void> {
  await stopSubmitting()
  await eventually('no task waits', isIdle, { withinMs: 60_000 })
  const { failed } = await dead()
  expect(failed).toBeGreaterThan(DEAD_AT_LEAST)
  await press(page.getByRole('link', { name: 'Overview' }))
  await press(page.getByRole('link', { name: /^Replay http-request: [\d,]+ dead tasks/ }))
  replayed = failed
  const count = failed.toLocaleString('en')
  await press(page.getByRole('button', { name: `Replay ${count}…` }))
  const dialog = page.getByRole('dialog')
  await dialog.getByText(ERROR).waitFor()
  await press(dialog.getByRole('button', { name: `Replay ${count}` }))
  await page.getByText(new RegExp(`^Operation [0-9a-f]{8} replays ${count} tasks\\.`)).waitFor()
}

async function watchSuccess({ page, press }: OnCall): Promise<void> {
  await page.getByText(`All ${OTHERS}, in 1 group by error`).waitFor()
  const count = replayed.toLocaleString('en')
  await page.getByText(new RegExp(`^${count} replayed: ${count} done \\(`)).waitFor({ timeout: 60_000 })
  await press(page.getByRole('link', { name: 'Overview' }))
  await page.getByRole('link', { name: 'Waiting 0' }).waitFor({ timeout: 60_000 })
  await page.getByRole('link', { name: `Dead ${OTHERS}` }).waitFor()
  await mainCause(page).waitFor({ state: 'detached', timeout: 90_000 })
}

const STEPS: Readonly<Record<string, (person: OnCall) => Promise<void>>> = {
  'signs in': signIn,
  'reads the cause': readCause,
  'fixes the config': fixConfig,
  replays: replay,
  'watches them succeed': watchSuccess,
}

describe('a worker that fails each task since its config changed', () => {
  for (const hands of HANDS)
    it(`is found, fixed, and its dead tasks are replayed, with ${hands.name}`, async () => {
      await fixture.fleet.configure(TYPE, BAD, { allow_ports: [1] })
      // A busy machine takes longer than the person, who ends the failures.
      await eventually('tasks die', async () => (await dead()).failed > DEAD_AT_LEAST, { withinMs: 60_000 })
      const person: OnCall = { ...hands, page: await fixture.open('', hands.options) }
      const laps: string[] = []
      const start = performance.now()
      for (const [name, step] of Object.entries(STEPS)) {
        const from = performance.now()
        await step(person)
        laps.push(`${name} ${((performance.now() - from) / 1_000).toFixed(1)} s`)
        if (hands === HANDS[0]) await look(person.page, `journey-${name.replaceAll(' ', '-')}`)
      }
      const took = performance.now() - start
      console.info(`with ${hands.name} ${(took / 1_000).toFixed(1)} s: ${laps.join(', ')}`)
      expect(took).toBeLessThan(LIMIT_MS)
      expect(await dead()).toEqual({ failed: 0, others: OTHERS })
    })
})
