// The pages tasks, output, pools and automations in a real browser, against a real master with data.
import { afterEach, beforeEach, describe, expect } from '@jest/globals'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { BusyFleet } from './busy-fleet.ts'
import { saved, tabTo } from './in-page.ts'
import { it } from './it.ts'
import { MAILER_TOKEN } from './many-workers.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const HOSTILE = '<img src=x onerror="window.ran = true"><script>window.ran = true</script>\u202Eevil\u0007'

let fleet: BusyFleet

beforeEach(async () => {
  fleet = new BusyFleet()
  if (CHROMIUM !== undefined) await fleet.start()
})
afterEach(() => fleet.stop())

async function open(hash: string, token = ADMIN_TOKEN, options: BrowserContextOptions = {}): Promise<Page> {
  const { page } = await signedIn(`${fleet.url}/`, hash, token, options)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return page
}

const queued = async (): Promise<readonly string[]> =>
  (await fleet.backend.tasks.queue('mailer', 1_000)).items.map(({ id }) => id)

describe('a dialog', () => {
  const gone = (page: Page, text: string) => page.getByText(text).waitFor()

  it('shows the result for tasks although the list is empty', async () => {
    await fleet.killTasks('mailer', 'dead', 3, 'boom')
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByRole('button', { name: 'Remove 3…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove 3' }).click()
    await gone(page, 'No dead letters')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('3 tasks removed.').waitFor()
  })

  it('shows the result for workers although none is left', async () => {
    await fleet.add('thumbnail', 2)
    const page = await open('#/workers')
    await page.getByRole('button', { name: 'Select all 2' }).click()
    await page.getByRole('button', { name: 'Forget…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Forget 2' }).click()
    await gone(page, 'No worker has registered yet')
    await page.getByRole('dialog').getByText('2 done').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('keeps its content when another client removes the item', async () => {
    await fleet.killTasks('mailer', 'dead', 1, 'boom')
    await fleet.emit('mailer', [{ to: 'a' }])
    const page = await open('#/tasks/mailer?tab=dead')
    await page.getByRole('button', { name: 'dead-1', exact: true }).click()
    await fleet.backend.tasks.clearDead('mailer')
    await gone(page, 'No dead letters')
    await page.getByRole('dialog').getByText('boom').waitFor()
    await page.keyboard.press('Escape')
    await page.goto(`${fleet.url}/#/output/mailer?mode=peek`)
    await page.getByRole('table', { name: 'Oldest entries' }).getByRole('button').click()
    await fleet.backend.streams.pop('mailer', 1)
    await gone(page, 'The stream is empty')
    await page.getByRole('dialog').getByText('"a"').waitFor()
  })
})

describe('a queue', () => {
  it('shows its tiers, explains why it is stuck, and finds a task', async () => {
    await fleet.queueTasks('mailer', 'urgent', 2, 0)
    await fleet.queueTasks('mailer', 'bulk', 5, 2)
    const page = await open('#/tasks/mailer')
    await page
      .getByRole('table', { name: 'Waiting tasks' })
      .getByRole('row', { name: /urgent-1 1 / })
      .waitFor()
    await page.getByText('Why?').click()
    await page.getByText('No worker of mailer has registered yet.').waitFor()
    await page.getByRole('button', { name: 'Find a task by ID…' }).click()
    await page.getByLabel('Task ID').fill('bulk-3')
    await page.keyboard.press('Enter')
    await page.getByText('Waiting in the queue.').waitFor()
    await page.goto(`${fleet.url}/#/tasks/mailer/never-was`)
    await page.getByText('Task not found').waitFor()
  })

  it('shows its load: the backlog, the slots, and why it is unknown how many it needs', async () => {
    await fleet.queueTasks('mailer', 'bulk', 1_200, 2)
    await fleet.add('mailer', 8)
    const page = await open('#/tasks/mailer')
    const load = page.getByRole('region', { name: 'Load' })
    await load.getByText('1,200', { exact: true }).waitFor()
    expect(await load.locator('dl.tiers').innerText()).toMatch(/^slots\s+[1-9]\d*\s+needed\s+unknown$/)
    await load.getByText('Needed slots: unknown until the master has counted for a minute.').waitFor()
    await load.scrollIntoViewIfNeeded()
    await look(page, 'load')
  })

  it('shows more tasks on demand and keeps the shown ones while loading', async () => {
    await fleet.queueTasks('mailer', 'bulk', 30, 2)
    const page = await open('#/tasks/mailer')
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/queue?n=100', async (route) => {
      await held
      await route.continue()
    })
    await Promise.all([page.waitForRequest('**/queue?n=100'), page.getByRole('button', { name: 'Show 30' }).click()])
    expect(await page.getByRole('row', { name: /bulk-1 / }).isVisible()).toBe(true)
    release()
    await page.getByText('30 of 30').waitFor()
  })

  it('accepts a task by form only once, although the first response is lost', async () => {
    const page = await open('#/tasks/mailer?tab=submit')
    await page.getByLabel('Recipient').fill('a@example.net')
    await page.getByLabel('Priority').selectOption({ label: 'High (1)' })
    await page.route('**/mailer/tasks', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('May have been queued:').waitFor()
    await page.unroute('**/mailer/tasks')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('Not queued: duplicate of task').waitFor()
    expect(await queued()).toHaveLength(1)
    const key = await page.getByLabel('Idempotency key').inputValue()
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText(/^Queued as/).waitFor()
    expect(await queued()).toHaveLength(2)
    expect(await page.getByLabel('Idempotency key').inputValue()).not.toBe(key)
  })

  it("shows the master's validation errors at their fields and keeps the input", async () => {
    const page = await open('#/tasks/mailer?tab=submit')
    await page.getByLabel('Recipient').fill('invalid')
    await page.getByLabel('Max attempts').fill('0')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.getByText('2 fields to fix').waitFor()
    await page.getByRole('link', { name: 'Output' }).click()
    await page.getByRole('heading', { name: 'Output' }).waitFor()
    await page.goBack()
    expect(await page.getByLabel('Recipient').inputValue()).toBe('invalid')
    expect(await queued()).toEqual([])
  })

  it('is filled, and its output popped, with the keyboard only', async () => {
    await fleet.emit('mailer', [{ to: 'a' }])
    const page = await open('#/tasks/mailer?tab=submit')
    await tabTo(page, page.getByLabel('Recipient'))
    await page.keyboard.type('a@example.net')
    await page.keyboard.press('Enter')
    await page.getByText(/^Queued as/).waitFor()
    expect(await queued()).toHaveLength(1)
    await page.locator('h1').click()
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await tabTo(page, page.getByRole('list', { name: 'Streams' }).getByRole('link', { name: 'mailer' }))
    await page.keyboard.press('Enter')
    await page.getByText('"to":"a"').waitFor()
    await tabTo(page, page.getByRole('button', { name: 'Pop 10…' }))
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Pop 10' }))
    await page.keyboard.press('Enter')
    await page.getByText('1 entry popped.').waitFor()
    expect(await fleet.backend.streams.length(['mailer'])).toEqual([0])
  })
})

describe('a stream', () => {
  it('is followed, filtered and paused, and marks missing entries', async () => {
    await fleet.emit('mailer', [{ to: 'first' }])
    const page = await open('#/output/mailer')
    await page.getByText('"first"').waitFor()
    await fleet.emit('mailer', [{ to: 'second' }])
    await page.getByText('"second"').waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await fleet.emit('mailer', [{ to: 'third' }])
    await fleet.backend.streams.pop('mailer', 3)
    await fleet.emit('mailer', [{ to: 'fourth' }])
    expect(await page.getByText('"fourth"').count()).toBe(0)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('"fourth"').waitFor()
    await page.getByText('entries are missing here').waitFor()
    await page.getByLabel('Filter entries').fill('second')
    await page.getByText('"first"').waitFor({ state: 'detached' })
    expect(page.url()).toContain('q=second')
    await page.getByLabel('Filter entries').fill('nothing-like-it')
    await page.getByText('entries are missing here').waitFor()
  })

  it('is popped after a confirmation, and the copy survives navigation until it is saved', async () => {
    await fleet.emit('mailer', [{ to: 'a' }, { to: 'b' }, { to: 'c' }])
    const page = await open('#/output/mailer?mode=peek')
    await page.getByRole('table', { name: 'Oldest entries' }).waitFor()
    await page.getByLabel('Number to pop').fill('2')
    await page.getByRole('button', { name: 'Pop 2…' }).click()
    await page.getByRole('dialog').getByText('will be removed for all consumers').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Pop 2' }).click()
    await page.getByText('2 entries popped.').waitFor()
    expect(await fleet.backend.streams.length(['mailer'])).toEqual([1])
    await page.getByRole('link', { name: 'Pools' }).click()
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
    await page.goBack()
    await page.getByText('2 popped entries exist only in this tab.').waitFor()
    const lines = (await saved(page, 'Save 2 as NDJSON'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { payload: unknown })
    expect(lines.map(({ payload }) => payload)).toEqual([{ to: 'a' }, { to: 'b' }])
    await page.getByRole('button', { name: 'Discard copy' }).click()
    await page.getByText('only in this tab').waitFor({ state: 'detached' })
  })
})

describe('a pool', () => {
  it("shows free and claimed items by the master's clock", async () => {
    await fleet.fillPool('senders', 4, 2)
    const page = await open('#/pools/senders')
    await page.getByText('2 free, 2 claimed').waitFor()
    await page
      .getByText(/claimed, expires in/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'item-1', exact: true }).click()
    await page.getByRole('dialog').getByText('"sender-1"').waitFor()
  })

  it('is not requested with a scoped token; the page says so (D32)', async () => {
    const { page, asked } = await signedIn(`${fleet.url}/`, '#/pools/senders', MAILER_TOKEN)
    await page.getByText('Pools need an admin token').waitFor()
    for (const hash of [
      'tasks/mailer',
      'output/mailer',
      'automations/mailer',
      'tasks/thumbnail',
      'output/thumbnail',
      'automations/thumbnail',
    ]) {
      await page.goto(`${fleet.url}/#/${hash}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    await page.getByText('is not installed or not covered by this token').waitFor()
    expect(asked.filter((path) => /pools|thumbnail/.test(path))).toEqual([])
  })
})

describe('hostile text', () => {
  it('in tasks, errors, entries and pools is shown as text without breaking the layout', async () => {
    await fleet.killTasks('mailer', 'dead', 1, HOSTILE, { to: HOSTILE, big: 'x'.repeat(1_000_000) })
    await fleet.queueTasks('mailer', HOSTILE.slice(0, 100), 1, 1, { to: HOSTILE })
    await fleet.emit('mailer', [{ [HOSTILE]: HOSTILE, big: 'y'.repeat(1_000_000) }])
    await fleet.backend.pools.put('senders', [
      {
        id: HOSTILE.slice(0, 90),
        tags: JSON.stringify({ region: HOSTILE }),
        payload: JSON.stringify({ user: 'z'.repeat(100_000) }),
        expiresAtMs: null,
      },
    ])
    const page = await open('#/tasks/mailer?tab=dead', ADMIN_TOKEN, { viewport: { width: 360, height: 740 } })
    for (const hash of [
      'tasks/mailer?tab=dead',
      'tasks/mailer',
      'output/mailer',
      'output/mailer?mode=peek',
      'pools/senders',
    ]) {
      await page.goto(`${fleet.url}/#/${hash}`)
      await page.getByText('<img src=x').first().waitFor({ state: 'attached' })
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 360])
    }
    await page.getByRole('table', { name: 'Pool items' }).getByRole('button').first().click()
    await page.getByRole('dialog').waitFor()
    expect(await page.evaluate('[typeof window.ran, document.querySelectorAll("img, main script").length]')).toEqual([
      'undefined',
      0,
    ])
  })
})

describe('a master whose store is unavailable', () => {
  it('leaves the last data with its age on every page, and the pages recover automatically', async () => {
    await fleet.fillPool('senders', 4, 2)
    await fleet.emit('mailer', [{ to: 'a' }])
    const page = await open('#/pools/senders')
    await page.getByText('2 free, 2 claimed').waitFor()
    await page.route('**/api/**', (route) =>
      route.fulfill({
        status: 503,
        headers: { 'retry-after': '1' },
        json: { detail: 'the store is unavailable; nothing was changed' },
      }),
    )
    await page.getByText('The store is unavailable; nothing was changed.').waitFor()
    await page.getByText('Showing data from').waitFor()
    expect(await page.getByText('2 free, 2 claimed').isVisible()).toBe(true)
    await page.unroute('**/api/**')
    await page.getByText('Showing data from').waitFor({ state: 'detached' })
    await page.goto(`${fleet.url}/#/output/mailer`)
    await page.getByText('"to":"a"').waitFor()
    await page.route('**/output/tail**', (route) => route.abort())
    await page.getByText('Earlier entries are kept below.').waitFor()
    await fleet.emit('mailer', [{ to: 'b' }])
    await page.unroute('**/output/tail**')
    await page.getByText('"to":"b"').waitFor()
  })
})

/** By the name of its screenshots. */
const PLACES: Readonly<Record<string, string>> = {
  tasks: '#/tasks',
  queue: '#/tasks/mailer',
  task: '#/tasks/mailer/urgent-3',
  'task-dead': '#/tasks/mailer/dead-3',
  'task-gone': '#/tasks/mailer/none',
  submit: '#/tasks/mailer?tab=submit',
  dead: '#/tasks/mailer?tab=dead',
  'dead-empty': '#/tasks/thumbnail?tab=dead',
  'output-tail': '#/output/mailer',
  'output-empty': '#/output/thumbnail',
  'output-peek': '#/output/mailer?mode=peek',
  pools: '#/pools/senders',
  automations: '#/automations',
  automation: '#/automations/mailer',
  'tasks-forbidden': '#/tasks/none',
}

describe('every page meets WCAG 2.2 AA in every look:', () => {
  for (const [name, hash] of Object.entries(PLACES))
    it(name, async () => {
      await fleet.add('mailer', 40)
      await fleet.killTasks('mailer', 'dead', 88, 'connect ECONNREFUSED 10.0.0.{n}:465')
      await fleet.killTasks('mailer', 'gone', 12, 'no such file "mail-{n}.eml"')
      await fleet.queueTasks('mailer', 'urgent', 30, 0)
      await fleet.queueTasks('mailer', 'mail', 400, 1, { to: 'someone@example.net', subject: 'Hello '.repeat(30) })
      await fleet.emit(
        'mailer',
        Array.from({ length: 60 }, (_, n) => ({ sent: n % 3 === 0, to: `a-${n}@example.net` })),
      )
      await fleet.fillPool('senders', 25, 6)
      const page = await open(hash)
      await page
        .getByText(/^Loading…/)
        .first()
        .waitFor({ state: 'detached' })
      if (name === 'queue') await page.getByText('Why?').click()
      if (name === 'dead') await page.getByRole('link', { name: 'Show 88' }).click()
      await look(page, name)
    })

  it('the dialogs', async () => {
    await fleet.killTasks('mailer', 'dead', 12, 'boom')
    await fleet.emit('mailer', [{ to: 'a' }])
    const page = await open('#/tasks/mailer?tab=dead')
    for (const [name, button] of [
      ['dead-remove', 'Remove 12…'],
      ['dead-remove-all', 'Remove all…'],
      ['dead-task', 'dead-3'],
    ] as const) {
      await page.getByRole('button', { name: button, exact: true }).click()
      await page.getByRole('dialog').waitFor()
      await look(page, name)
      await page.keyboard.press('Escape')
    }
    await page.goto(`${fleet.url}/#/output/mailer`)
    await page.getByRole('button', { name: 'Pop 10…' }).click()
    await look(page, 'output-pop')
  })
})
