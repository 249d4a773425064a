// What the page says while the master does not respond, about a worker that is offline, and after an act.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import { BusyFleet } from './busy-fleet.ts'
import { FleetFixture } from './fleet-fixture.ts'
import { it } from './it.ts'
import { studioForEachTest, STUDIO_TOKEN } from './studio-fixture.ts'
import { CHROMIUM, look, signedIn, storedValues } from './watched.ts'

const CONFIG = '#/workers/studio/m-7?tab=config'

describe('a worker that is offline', () => {
  const studio = studioForEachTest()

  it('has charts that end at its last frame, and no present values', async () => {
    const socket = await studio.fixture.join('studio', 'm-8')
    const [row] = await studio.fixture.backend.workers.get([{ type: 'studio', id: 'm-8' }])
    const now = Math.floor(Date.now() / 1_000)
    const frame = (ts: number) => JSON.stringify({ ts, slots: 2, cpu_pct: 40, rss_mb: 300, metrics: {}, per_slot: [] })
    const stats = [600, 585, 570].map((age) => frame(now - age))
    await studio.fixture.backend.workers.beat([{ type: 'studio', id: 'm-8', conn: row?.conn ?? '', stats }])
    socket.close()
    const { page } = await studio.open('#/workers/studio/m-8')
    await page.getByText('Offline since').waitFor()
    const cpu = page.locator('figure').filter({ hasText: 'CPU' }).first()
    await cpu.getByText('–', { exact: true }).first().waitFor()
    expect(await cpu.locator('figcaption').innerText()).not.toContain('40')
    await page.getByRole('heading', { name: /^Statistics from/ }).waitFor()
    await look(page, 'worker-offline-charts')
  })
})

describe('a config draft', () => {
  const studio = studioForEachTest()

  it('survives a reload of the page, but for its secrets', async () => {
    const { page } = await studio.open(CONFIG)
    page.on('dialog', (dialog) => void dialog.accept())
    await page.getByLabel('SMTP host').fill('smtp.typed.example.net')
    await page.getByRole('radiogroup', { name: 'password' }).getByLabel('Set', { exact: true }).check()
    await page.getByPlaceholder('new value').fill('secret-of-the-draft')
    expect(JSON.stringify(await storedValues(page))).not.toContain('secret-of-the-draft')
    await page.reload()
    expect(await page.getByLabel('SMTP host').inputValue()).toBe('smtp.typed.example.net')
    await page.getByRole('button', { name: 'Review 1 change' }).waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.reload()
    expect(await page.getByLabel('SMTP host').inputValue()).toBe('smtp.old.example.net')
  })

  it('has space on a screen that is zoomed to 400 %, and no bars on paper', async () => {
    const { page } = await studio.open(CONFIG, { viewport: { width: 320, height: 200 } })
    await page.getByLabel('SMTP host').fill('smtp.typed.example.net')
    await page.getByRole('button', { name: 'Review 1 change' }).waitFor()
    await page.getByLabel('SMTP host').scrollIntoViewIfNeeded()
    const covered = `[...document.querySelectorAll('.top, .main-nav, .config-bar')]
      .filter((each) => ['fixed', 'sticky'].includes(getComputedStyle(each).position)).length`
    expect(await page.evaluate(covered)).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('.top').isVisible()).toBe(false)
  })

  it('is saved with a note that all changes are saved', async () => {
    const { page } = await studio.open(CONFIG)
    await page.getByLabel('SMTP host').fill('smtp.new.example.net')
    await page.getByRole('button', { name: 'Review 1 change' }).click()
    await page.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByText('All changes are saved.').waitFor()
    await page.getByText(/Generation 1 is saved\./).waitFor()
    expect(await page.getByText('No changes', { exact: true }).count()).toBe(0)
    await look(page, 'config-saved')
  })
})

describe('the navigation of a phone', () => {
  const studio = studioForEachTest()

  it('has each name in the middle of its part', async () => {
    const { page } = await studio.open('#/', { viewport: { width: 360, height: 740 } })
    const widths = `[...document.querySelectorAll('.main-nav > ul > li > a, .main-nav summary')]
      .filter((each) => each.offsetWidth > 0).map((each) => each.offsetWidth === each.closest('li').offsetWidth)`
    expect(await page.evaluate(widths)).toEqual([true, true, true, true, true])
  })
})

describe('a worker that is forgotten', () => {
  const studio = studioForEachTest()

  it('is named on the list that opens, until another page opens', async () => {
    const { page } = await studio.open('#/workers/studio/m-7')
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByRole('button', { name: 'Forget 1 worker' }).click()
    const notice = page.getByText('studio/m-7 was forgotten. It is connected, so it registers again.')
    await notice.waitFor()
    await look(page, 'worker-forgotten')
    await page.getByRole('link', { name: 'Tasks' }).first().click()
    await notice.waitFor({ state: 'detached' })
  })
})

describe('the activity', () => {
  const studio = studioForEachTest()

  it('shows who changed a worker and how it ended, and filters by address', async () => {
    const { fixture } = studio
    const { page } = await studio.open('#/activity')
    await page.getByText('No activity', { exact: true }).waitFor()
    await fixture.call('PATCH', 'automations/studio/workers/m-7/config', { slots: 2, port: 25 })
    await fixture.call('PATCH', 'automations/studio/workers/m-7/config', { port: 'x' })
    await fixture.call('PUT', 'automations/studio/queue/pause', { seconds: 60 })
    await page.evaluate("location.hash = '#/workers/studio/m-7'")
    await page.getByRole('link', { name: 'Show activity' }).click()
    await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor()
    const rows = page.getByRole('table', { name: 'Activity' }).getByRole('row')
    await rows.nth(2).waitFor()
    expect(await rows.nth(1).innerText()).toMatch(/Changed a config\s+m-7\s+studio\s+⊘ refused\s+HTTP 422/)
    expect(await rows.nth(2).innerText()).toMatch(/Changed a config\s+m-7\s+studio\s+✓ done\s+port, slots/)
    await page.getByLabel('Object', { exact: true }).fill('')
    await page.getByLabel('Action', { exact: true }).selectOption('Queues')
    await page.getByText('Paused the queue').waitFor()
    expect(await rows.count()).toBe(2)
    expect(page.url()).toContain('#/activity?type=studio&action=queue')
    await page.getByLabel('Action', { exact: true }).selectOption('All actions')
    await rows.nth(3).waitFor()
    await look(page, 'activity')
    await page.getByLabel('Token or person').fill('never')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Show all activity' }).click()
    await rows.nth(3).waitFor()
  })

  it('needs an admin token', async () => {
    const { page } = await studio.open('#/activity', {}, STUDIO_TOKEN)
    await page.getByText('Activity needs an admin token').waitFor()
  })
})

describe('the slots of a worker', () => {
  const studio = studioForEachTest()

  it('lead to the tasks that it runs', async () => {
    const { fixture } = studio
    await fixture.call('POST', 'automations/studio/tasks', { task_id: 'running-1', payload: { to: 'a' } })
    await fixture.call('POST', 'automations/studio/tasks', { task_id: 'waiting-1', payload: { to: 'b' } })
    const request = { worker: 'm-7', limit: 1, gen: 0, defaultMaxAttempts: 3 }
    await fixture.backend.tasks.reserve('studio', 60_000, [request])
    const { page } = await studio.open('#/workers/studio/m-7?tab=slots')
    await page.getByRole('heading', { name: 'Tasks in flight 1' }).waitFor()
    await look(page, 'worker-tasks-in-flight')
    await page.getByRole('link', { name: 'running-1' }).click()
    await page.getByRole('heading', { name: 'Task running-1' }).waitFor()
    await page.getByText('in flight', { exact: true }).waitFor()
  })
})

describe('a row of the list of workers', () => {
  const studio = studioForEachTest()

  it('has the values of a config that another user saved, within seconds', async () => {
    await studio.fixture.patch('studio', 'm-7', { enabled: true })
    const { page, asked } = await studio.open('#/workers?q=enabled%3Ayes')
    await page.getByRole('link', { name: 'm-7' }).waitFor()
    await page.getByRole('button', { name: /live/ }).waitFor()
    asked.splice(0)
    await studio.fixture.patch('studio', 'm-7', { enabled: false })
    // The next round of reads may be 15 s later.
    await page.getByText('No workers match this filter').waitFor({ timeout: 5_000 })
    expect(asked).toContain('/api/v1/automations/studio/workers/m-7')
  })
})

describe('a fresh fleet', () => {
  let fleet: BusyFleet
  beforeEach(async () => {
    fleet = new BusyFleet()
    if (CHROMIUM !== undefined) await fleet.start({ isAlone: true })
  })
  afterEach(() => fleet.stop())

  it('is neither well nor in trouble, and a page for a type without a queue says why', async () => {
    const { page } = await signedIn(`${fleet.url}/`)
    await page.getByText('No worker has registered yet.').waitFor()
    const dot = "getComputedStyle(document.querySelector('.fleet-summary'), '::before').backgroundColor"
    expect(await page.evaluate(dot)).toBe('rgba(0, 0, 0, 0)')
    await page.goto(`${fleet.url}/#/tasks/mailer`)
    await page.getByText('Why?').click()
    await page.getByText('No task of mailer is waiting or running.').waitFor()
    await page.goto(`${fleet.url}/#/tasks/probe`)
    await page.getByText('probe is a continuous automation: its workers run all the time').waitFor()
    for (const name of ['tasks', 'output', 'automations']) {
      await page.goto(`${fleet.url}/#/${name}/missing`)
      await page.getByText('missing is not installed on the master.').waitFor()
    }
  })
})

describe('a dead task', () => {
  let fleet: BusyFleet
  beforeEach(async () => {
    fleet = new BusyFleet()
    if (CHROMIUM !== undefined) await fleet.start({ isAlone: true })
  })
  afterEach(() => fleet.stop())

  it('is replayed and removed on its page, which its dialog and the find dialog open', async () => {
    await fleet.killTasks('mailer', 'dead', 2, 'ECONNRESET')
    const { page } = await signedIn(`${fleet.url}/`)
    await page.getByText('2 dead tasks').first().waitFor()
    await page.keyboard.press('f')
    await page.getByLabel('Task ID').fill('dead-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Task dead-1' }).waitFor()
    await page.getByRole('button', { name: 'Replay…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 1' }).click()
    await page.getByText('1 task requeued.').waitFor()
    await page.getByText('pending', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Replay…' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Cancel task…' }).waitFor()

    await page.goto(`${fleet.url}/#/tasks/mailer/dead-2`)
    await look(page, 'task-dead')
    await page.getByRole('button', { name: 'Remove…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove 1' }).click()
    await page.getByText('1 task removed.').waitFor()
  })
})

describe('a master that does not respond', () => {
  let fixture: FleetFixture
  beforeEach(async () => {
    fixture = new FleetFixture()
    if (CHROMIUM !== undefined) await fixture.start()
  })
  afterEach(() => fixture.stop())

  it('is reported in one box, Save waits for it, and no old failure stays after its return', async () => {
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.signedIn('#/workers/http-request/w-1?tab=config')
    await page.getByLabel('user_agent').fill('typed before')
    await page.getByRole('button', { name: 'Review 1 change' }).click()
    const save = page.getByRole('button', { name: 'Save 1 change' })
    expect(await save.isEnabled()).toBe(true)
    await fixture.fleet.stopMaster()
    await page.getByText('The master has not responded since').waitFor()
    await page.getByText('The master does not respond. Your changes are kept until it does.').waitFor()
    expect(await save.isEnabled()).toBe(false)
    expect(await page.locator('.problem').count()).toBe(1)
    const colours = `getComputedStyle(document.querySelector('.worker-title')).filter`
    expect(await page.evaluate(colours)).toBe('grayscale(1)')
    await look(page, 'master-unavailable')
    await fixture.start()
    await page.getByText('The master has not responded since').waitFor({ state: 'detached' })
    expect(await page.getByText('No response:').count()).toBe(0)
    // A master that starts says for a moment that it is not ready.
    await page.locator('.problem').first().waitFor({ state: 'detached' })
    await save.click()
    await page.getByText(/is saved\./).waitFor()
  })
})
