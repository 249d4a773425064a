// The attention list in a real browser, against a real master: it stands still, says how much fails since when, and can
// be emptied by acknowledging its items (D171).
import { afterEach, beforeEach, describe, expect, jest } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { eventually } from '../../kit/index.ts'
import { BusyFleet } from './busy-fleet.ts'
import { FleetFixture } from './fleet-fixture.ts'
import { it } from './it.ts'
import { READ_TOKEN } from './page-master.ts'
import { studioForEachTest } from './studio-fixture.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

jest.setTimeout(180_000)

const items = (page: Page): Locator => page.locator('.attention').first().getByRole('listitem')
const item = (page: Page, text: string | RegExp): Locator => items(page).filter({ hasText: text })

describe('the attention list', () => {
  const studio = studioForEachTest()
  const FLAPS_MS = 40_000
  const FLAP_EVERY_MS = 2_000

  it('changes once when a worker changes between ERROR and RUNNING all the time', async () => {
    const { page } = await studio.open('#/')
    await page.getByText('No problems').waitFor()
    const socket = await studio.fixture.join('studio', 'm-8', 'ERROR', 'connect ECONNREFUSED')
    let isInError = true
    const flapping = setInterval(() => {
      isInError = !isInError
      const state = isInError ? 'ERROR' : 'RUNNING'
      const frame = { type: 'state', state, config_gen: 0, ts: Date.now() / 1_000, last_error: 'connect ECONNREFUSED' }
      socket.send(JSON.stringify(frame))
    }, FLAP_EVERY_MS)
    try {
      const seen: string[] = []
      for (const endMs = Date.now() + FLAPS_MS; Date.now() < endMs;) {
        const texts = (await items(page).locator('.attention-text').allInnerTexts()).map((text) => text.split('\n')[0])
        if (texts.join() !== seen.at(-1)) seen.push(texts.join())
        await page.waitForTimeout(250)
      }
      expect(seen).toEqual(['', 'studio/m-8 in ERROR: connect ECONNREFUSED'])
    } finally {
      clearInterval(flapping)
    }
    await studio.fixture.join('studio', 'm-9', 'ERROR', 'connect ECONNREFUSED')
    await item(page, '2 workers are in ERROR: connect ECONNREFUSED').waitFor()
    await item(page, /began \d+ (?:s|min) ago/).waitFor()
  })
})

describe('the attention list of a busy fleet', () => {
  let fleet: BusyFleet
  beforeEach(async () => {
    fleet = new BusyFleet()
    if (CHROMIUM !== undefined) await fleet.start({ isAlone: true })
  })
  afterEach(() => fleet.stop())

  it('says what died since when, ranks it first while tasks die, and names the act', async () => {
    await fleet.killTasks('mailer', 'dead', 30, 'connect ECONNREFUSED 10.0.0.{n}:25')
    await fleet.queueTasks('thumbnail', 'waiting', 2)
    const { page } = await signedIn(`${fleet.url}/`)
    await item(page, /^. ?mailer 30 dead tasks, all: connect ECONNREFUSED/).waitFor()
    await item(page, /began \d+ (?:s|min) ago/)
      .first()
      .waitFor()
    await eventually('deaths are counted', async () => {
      await fleet.killTasks('mailer', `more-${Date.now()}`, 1, 'connect ECONNREFUSED 10.0.0.{n}:25')
      return (await item(page, /[\d,]+ died in the last minute(?: \(.*\))?, began/).count()) > 0
    })
    await page.getByText(/^Attention: thumbnail's queue has no worker to take tasks and \d+ tasks are dead/).waitFor()
    await look(page, 'attention')
    await item(page, 'dead tasks').getByRole('link', { name: 'Replay' }).click()
    await page
      .getByRole('button', { name: /^Replay \d+…/ })
      .first()
      .waitFor()
  })

  it('keeps the rows in their places while the pointer is in it', async () => {
    await fleet.killTasks('mailer', 'dead', 3, 'ECONNRESET')
    const { page } = await signedIn(`${fleet.url}/`)
    await item(page, '3 dead tasks').waitFor()
    await item(page, '3 dead tasks').hover()
    await fleet.queueTasks('thumbnail', 'waiting', 2)
    await item(page, '2 tasks are waiting').waitFor()
    const subjects = () => items(page).locator('.attention-subject').allInnerTexts()
    expect(await subjects()).toEqual(['mailer', 'thumbnail'])
    await page.mouse.move(5, 5)
    await eventually('the worst comes first', async () => (await subjects()).join() === 'thumbnail,mailer')
  })

  it('is emptied by acknowledgements, which every admin sees and can end', async () => {
    await fleet.killTasks('mailer', 'dead', 3, 'ECONNRESET')
    const { page } = await signedIn(`${fleet.url}/`)
    await item(page, '3 dead tasks').getByRole('button', { name: 'Acknowledge' }).click()
    const dialog = page.getByRole('dialog', { name: 'Acknowledge this problem?' })
    await dialog.getByLabel('Note, shown to everybody').fill('vendor informed')
    await look(page, 'attention-acknowledge')
    await dialog.getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByText('No problems except 1 acknowledged one.').waitFor()
    await page.getByText('No other problems').waitFor()
    expect(await page.title()).toBe('Overview · Muster')
    await page.getByText('1 acknowledged', { exact: true }).click()
    expect(await page.locator('.acknowledged').innerText()).toMatch(/by admin, until .*: vendor informed/)
    await look(page, 'attention-acknowledged')

    const { page: reader } = await signedIn(`${fleet.url}/`, '', READ_TOKEN)
    await reader.getByText('1 acknowledged', { exact: true }).click()
    expect(await reader.getByRole('button', { name: 'List again' }).count()).toBe(0)
    const { page: other } = await signedIn(`${fleet.url}/`)
    await other.getByText('1 acknowledged', { exact: true }).click()
    await other.getByRole('button', { name: 'List again' }).click()
    await item(other, '3 dead tasks').waitFor()
    await item(page, '3 dead tasks').waitFor({ timeout: 30_000 })
  })
})

describe('an acknowledged problem', () => {
  const fixture = new FleetFixture()
  beforeEach(async () => {
    if (CHROMIUM !== undefined) await fixture.start()
  })
  afterEach(() => fixture.stop())

  it('stays acknowledged when the master restarts', async () => {
    const pause = '/automations/http-request/queue/pause'
    await fixture.fleet.ok('PUT', pause, { note: 'migration' })
    const page = await fixture.signedIn()
    await item(page, 'paused by admin (migration)').getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByLabel('End').selectOption('When it changes: more of it, or another error')
    await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByText('1 acknowledged', { exact: true }).waitFor()
    await fixture.fleet.stopMaster()
    await fixture.start()
    await page.reload()
    await page.getByText('1 acknowledged', { exact: true }).waitFor()
    expect(await item(page, 'paused by').count()).toBe(0)
    await fixture.fleet.ok('PUT', pause, { note: 'another reason' })
    await item(page, 'paused by admin (another reason)').waitFor()
    await item(page, 'paused by').getByRole('button', { name: 'Resume' }).click()
    await page.getByText('1 acknowledged', { exact: true }).click()
    await page.getByText('pause: solved').waitFor()
  })
})
