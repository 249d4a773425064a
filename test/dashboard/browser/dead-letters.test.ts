// The dead letters of a queue in a real browser: groups, selected tasks, the whole queue, and the keyboard.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { eventually } from '../../kit/index.ts'
import { BusyFleet } from './busy-fleet.ts'
import { saved } from './in-page.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start({ isUpgraded: true })
})
afterEach(() => fleet.stop())

async function open(hash: string): Promise<Page> {
  const { page } = await signedIn(`${fleet.url}/`, hash)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

const dead = async (): Promise<readonly string[]> =>
  (await fleet.backend.tasks.dead('mailer', 10_000)).items.map(({ id }) => id)
const queued = async (): Promise<readonly string[]> =>
  (await fleet.backend.tasks.queue('mailer', 10_000)).items.map(({ id }) => id)
const named = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n + 1}`)

describe('dead letters', () => {
  it('are replayed by group without those that die meanwhile', async () => {
    await fleet.killTasks('mailer', 'dead', 88, 'connect ECONNREFUSED 10.0.0.{n}:465')
    await fleet.killTasks('mailer', 'gone', 2, 'no such file "{n}.eml"')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByText('All 90, in 2 groups by error').waitFor()
    await page.getByRole('button', { name: 'Replay 88…' }).click()
    await fleet.killTasks('mailer', 'late', 6, 'connect ECONNREFUSED 10.9.9.{n}:465')
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 88' }).click()
    await page.getByText('88 tasks requeued.').waitFor()
    await page.getByText('All 8, in 2 groups by error').waitFor()
    expect((await dead()).toSorted()).toEqual([...named('gone', 2), ...named('late', 6)])
    expect(await queued()).toHaveLength(88)
  })

  it('by the thousand are replayed by an operation that continues when the page is closed (D194)', async () => {
    await fleet.killTasks('mailer', 'dead', 1_100, 'connect ECONNREFUSED 10.0.0.{n}:465')
    await fleet.killTasks('mailer', 'gone', 3, 'no such file "{n}.eml"')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByRole('button', { name: 'Replay 1,100…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Empty: 1,000 a second, so it takes about 2 seconds.').waitFor()
    await dialog.getByLabel('Tasks a second').fill('2000')
    await dialog.getByText('Enter 1 to 1,000, or nothing.').waitFor()
    await dialog.getByLabel('Tasks a second').fill('200')
    await fleet.killTasks('mailer', 'late', 6, 'connect ECONNREFUSED 10.9.9.{n}:465')
    await dialog.getByRole('button', { name: 'Replay 1,100' }).click()
    await page
      .getByText(/^Operation [0-9a-f]{8} replays 1,100 tasks\. It continues when you close this page\.$/)
      .waitFor()
    await page.getByText(/^\d[0-9,]* of 1,100 replayed by operation [0-9a-f]{8}$/).waitFor()
    await page.context().close()
    expect((await dead()).length).toBeGreaterThan(9)
    await eventually('all are replayed', async () => (await dead()).length === 9, { withinMs: 30_000 })
    expect((await dead()).toSorted()).toEqual([...named('gone', 3), ...named('late', 6)])
    expect((await queued()).toSorted()).toEqual(named('dead', 1_100).toSorted())
    const again = await open('#/operations')
    await again
      .getByRole('table', { name: 'Operations' })
      .getByRole('link', { name: /^Replay / })
      .click()
    await again.locator('.badge').getByText('done').waitFor()
    await again.getByText('1,100 of 1,100', { exact: true }).waitFor()
    await again.getByText('1,100 replayed: 0 done, 1,100 not finished').waitFor()
    await look(again, 'operation-replay')
    await again.getByRole('link', { name: 'Dead letters of mailer' }).click()
    await again.getByText('All 9, in 2 groups by error').waitFor()
    await look(again, 'dead-replayed')
  })

  it('are selected and removed, many of them only after their number was typed', async () => {
    await fleet.killTasks('mailer', 'dead', 30, 'boom')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByLabel('Select dead-29', { exact: true }).check()
    await page.getByLabel('Select dead-27', { exact: true }).check()
    await page.getByRole('button', { name: 'Remove 2…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove 2' }).click()
    await page.getByText('2 tasks removed.').waitFor()
    await page.getByText('All 28, in').waitFor()
    await page.getByRole('button', { name: 'Remove 28…' }).click()
    const verb = page.getByRole('dialog').getByRole('button', { name: 'Remove 28' })
    expect(await verb.isDisabled()).toBe(true)
    await page.getByRole('dialog').getByLabel('Type 28 to confirm').fill('28')
    await verb.click()
    await page.getByText('28 tasks removed.').waitFor()
    await page.getByText('No dead letters').waitFor()
    expect(await dead()).toEqual([])
  })

  it('are removed all together only after the name was typed, with a download offered first', async () => {
    await fleet.killTasks('mailer', 'dead', 3, 'boom')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByRole('button', { name: 'Remove all…' }).click()
    const lines = (await saved(page, 'Save a copy first'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string })
    expect(lines.map(({ id }) => id)).toEqual(['dead-3', 'dead-2', 'dead-1'])
    expect(await page.getByRole('button', { name: 'Remove 3 dead tasks' }).isDisabled()).toBe(true)
    await page.getByLabel('Type mailer to confirm').fill('mailer')
    await page.getByRole('button', { name: 'Remove 3 dead tasks' }).click()
    await page.getByText('3 tasks removed.').waitFor()
  })

  it('show an unknown result and are read again if an action gets no response', async () => {
    await fleet.killTasks('mailer', 'dead', 3, 'boom')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.route('**/dead/groups/*/replay', (route) => route.abort())
    await page.getByRole('button', { name: 'Replay 3…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 3' }).click()
    await page.getByText('The outcome of the last request is unknown; the list is reloaded.').waitFor()
    expect(await dead()).toHaveLength(3)
  })

  it('are selected and replayed with the keyboard only', async () => {
    await fleet.killTasks('mailer', 'dead', 3, 'boom')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByLabel('Select dead-3', { exact: true }).waitFor()
    for (const key of ['j', 'x', 'j', 'j', 'x']) await page.keyboard.press(key)
    await page.getByText('2 selected').waitFor()
    await page.getByRole('button', { name: 'Replay 2…' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    for (
      let step = 0;
      step < 8 && (await page.evaluate('document.activeElement.textContent')) !== 'Replay 2';
      step += 1
    )
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('2 tasks requeued.').waitFor()
    await page.getByText('All 1, in').waitFor()
    expect(await dead()).toEqual(['dead-2'])
  })

  it('by the thousand do not grow the document', async () => {
    await fleet.killTasks('mailer', 'dead', 2_000, 'boom {n}')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByText('All 2,000, in').waitFor()
    await page.getByRole('table').waitFor()
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1_500)
    await fleet.killTasks('mailer', 'other', 1_000, '{word}')
    await page.getByRole('button', { name: 'Show 50 more of 201 groups' }).click()
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(2_500)
  })
})
