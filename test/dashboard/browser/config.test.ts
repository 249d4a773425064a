// The config page (Form, JSON, Changes) in a real browser, against a real master and socket workers.
import { describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { WORST_SLACK } from './budget.ts'
import { goTo, inPage, observe, tabTo } from './in-page.ts'
import { it } from './it.ts'
import { look, signIn } from './watched.ts'
import { studioForEachTest } from './studio-fixture.ts'

const studio = studioForEachTest()
const { open } = studio
const CONFIG = '#/workers/studio/m-7?tab=config'
const review = (page: Page): Promise<void> => page.getByRole('button', { name: /^Review/ }).click()
const save = (page: Page): Promise<void> => page.getByRole('button', { name: /^Save \d/ }).click()
const saidInChanges = (page: Page): Promise<string> => page.locator('dl.changes').innerText()

describe('the form of a config', () => {
  it('saves the changes and shows their progress until the worker applies them', async () => {
    await studio.fixture.patch('studio', 'm-7', {
      targets: ['a'],
      password: 'hunter2hunter2',
      proxy: { url: 'http://p', password: 'topsecretvalue' },
    })
    const { page } = await open(CONFIG)
    await page.getByLabel('port', { exact: true }).fill('25')
    await page.getByLabel('ratio').fill('0.5')
    await page.getByLabel('SMTP host').fill('smtp.example.net')
    await page.getByLabel('mode', { exact: true }).selectOption('fast')
    await page.getByLabel('dry', { exact: true }).selectOption('true')
    await page.getByRole('button', { name: 'Set to null limit' }).click()
    await page.getByRole('button', { name: 'Add an item' }).click()
    await page.getByLabel('item 2').fill('b')
    await page.getByLabel('retry', { exact: true }).selectOption({ label: 'Growing' })
    await page.getByLabel('base (required)').fill('1.5')
    await page.getByLabel('headers', { exact: true }).fill('{"X-A": "b"}')
    await page.getByRole('radiogroup', { name: 'password' }).nth(1).getByLabel('Replace').check()
    await page.getByPlaceholder('new value').fill('opensesame1')
    await page.getByLabel('url (required)').fill('http://other')
    await review(page)
    expect(await saidInChanges(page)).toContain('a new secret')
    expect(await saidInChanges(page)).not.toContain('opensesame1')
    await look(page, 'config-changes')
    await save(page)
    await page.getByText(/Generation 2 is saved\. The worker applied it after \d/).waitFor()
    const { config } = await studio.fixture.record('studio', 'm-7')
    expect(config).toMatchObject({
      port: 25,
      ratio: 0.5,
      host: 'smtp.example.net',
      mode: 'fast',
      dry: true,
      limit: null,
      targets: ['a', 'b'],
      retry: { kind: 'grow', base: 1.5 },
      headers: { 'X-A': 'b' },
      password: '********',
      proxy: { url: 'http://other', password: '********' },
    })
    const stored = (await studio.fixture.backend.configs.get([{ type: 'studio', id: 'm-7' }]))
      .map((row) => JSON.stringify(row))
      .join('')
    expect(stored).toContain('opensesame1')
    expect(stored).toContain('topsecretvalue')
    expect(
      (await page.content()) +
        JSON.stringify(await studio.fixture.call('GET', 'automations/studio/workers/m-7/config/history')),
    ).not.toMatch(/opensesame|hunter2|topsecret/)
  })

  it("has the automation's own fields first, and inputs for dates and times that keep the offset", async () => {
    await studio.fixture.patch('studio', 'm-7', {
      at: '2026-01-31T09:00:30+05:30',
      leap: '2016-12-31T23:59:60Z',
      day: '2026-02-03',
      login: { token: 'opensesame1' },
    })
    const { page } = await open(CONFIG)
    await page.getByRole('heading', { name: 'Fields of every worker' }).waitFor()
    const named = `[...document.querySelectorAll('.field-group')].map((each) =>
      [each.querySelector('h2').innerText, each.querySelector('.label').innerText])`
    expect(await page.evaluate(named)).toEqual([
      ['Fields of studio', 'SMTP host'],
      ['Fields of every worker', 'enabled'],
    ])
    await page.getByText('set: Token or Password (the master does not show which)').waitFor()
    const typeOf = (name: string) => page.getByLabel(name, { exact: true }).getAttribute('type')
    expect(await Promise.all(['at', 'leap', 'day', 'hour'].map(typeOf))).toEqual([
      'datetime-local',
      'text',
      'date',
      'time',
    ])
    await page.getByText('UTC+05:30').waitFor()
    expect(await page.getByLabel('at', { exact: true }).inputValue()).toBe('2026-01-31T09:00:30')
    await look(page, 'config-dates')
    await page.getByLabel('at', { exact: true }).fill('2026-02-01T10:00')
    await page.getByLabel('hour', { exact: true }).fill('08:30')
    await review(page)
    await save(page)
    await page.getByText('Generation 2 is saved.').waitFor()
    expect((await studio.fixture.record('studio', 'm-7')).config).toMatchObject({
      at: '2026-02-01T10:00:00+05:30',
      leap: '2016-12-31T23:59:60Z',
      day: '2026-02-03',
      hour: '08:30:00Z',
      login: '********',
    })
  })

  it('shows an error at its field and links to it from Changes', async () => {
    const { page } = await open(CONFIG)
    await page.getByLabel('port', { exact: true }).fill('many')
    await page.getByText('expected a whole number, got "many"').waitFor()
    await page.getByLabel('from', { exact: true }).fill('invalid')
    await page.getByText('expected text that matches').waitFor()
    await goTo(page, `${CONFIG}&view=changes`)
    await page.getByRole('region', { name: 'Errors' }).waitFor()
    await look(page, 'config-errors')
    await page.getByRole('button', { name: 'Save 1 change: 2 errors' }).click()
    await page.waitForFunction("document.activeElement.id.endsWith('/port')")
    expect(await page.getByLabel('port', { exact: true }).inputValue()).toBe('many')
    expect((await studio.fixture.record('studio', 'm-7')).config_gen).toBe(0)
  })

  it("shows the master's validation errors at their fields before saving", async () => {
    const { page } = await open(`${CONFIG}&view=json`)
    await page.getByLabel('The whole config').fill(
      JSON.stringify({
        ...(await studio.fixture.record('studio', 'm-7')).config,
        unknown: 1,
        host: 'smtp.example.net',
      }),
    )
    await review(page)
    await page.getByText('/unknown is not a known field').waitFor()
    await goTo(page, CONFIG)
    await page.getByRole('button', { name: 'Remove unknown' }).click()
    await review(page)
    await page.getByRole('button', { name: 'Save 1 change', exact: true }).waitFor()
  })

  it('keeps a JSON text with a syntax error and shows its position', async () => {
    const { page } = await open(`${CONFIG}&view=json`)
    await page.getByLabel('The whole config').fill('{\n  "slots": 2,\n}')
    await page.getByText('Invalid JSON at line 3, column 1.').waitFor()
    await goTo(page, CONFIG)
    await page.getByText('so the form is locked').waitFor()
    await goTo(page, '#/workers')
    await goTo(page, `${CONFIG}&view=json`)
    await expect(page.getByLabel('The whole config').inputValue()).resolves.toContain('"slots": 2,\n}')
    await look(page, 'config-json-broken')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('No changes.').waitFor()
  })

  it('shows that a saved config is not applied yet, and the cause', async () => {
    studio.fixture.ignoring.add('m-7')
    const { page } = await open(CONFIG)
    await page.getByLabel('slots', { exact: true }).fill('3')
    await review(page)
    await save(page)
    await page.getByText('Generation 1 is saved. The worker has not applied it yet.').waitFor()
    const result = page.locator('.save-result')
    expect(await result.getByRole('status').getAttribute('class')).toBe('warn')
    await result.getByText('Why?').click()
    await result.getByText(/Saved .* ago\. The worker is connected but has not confirmed generation 1/).waitFor()
    expect(await result.getByRole('listitem').count()).toBe(1)
    await look(page, 'config-not-applied')
  })

  it('stays responsive with 200 fields', async () => {
    await studio.fixture.join('wide', 'w-1')
    const { page } = await open('#/workers/wide/w-1?tab=config')
    const field = page.getByLabel('field_1', { exact: true })
    await field.waitFor()
    await observe(page, { type: 'longtask' })
    await field.pressSequentially('twenty characters ok', { delay: 60 })
    await page.waitForTimeout(200)
    const slow = (await inPage<number[]>(page, 'kept')).toSorted((a, b) => a - b)
    console.log(`200 fields: tasks above 50 ms while typing: ${JSON.stringify(slow)}`)
    expect(slow.filter((duration) => duration > 100 * WORST_SLACK)).toEqual([])
  })
})

describe('a draft of a config', () => {
  it('is merged field by field with the generation that another user saved', async () => {
    const { page } = await open(CONFIG)
    await page.getByLabel('port', { exact: true }).fill('25')
    await page.getByLabel('ratio').fill('0.5')
    await studio.fixture.patch('studio', 'm-7', { port: 2525, host: 'theirs.example.net' })
    await page.getByText('Generation 1 was saved while you were editing').waitFor()
    await page.getByText('Changed by others only: host.').waitFor()
    await look(page, 'config-conflict')
    await page.getByRole('radiogroup', { name: 'Result of port' }).getByLabel('yours').check()
    await page.getByRole('button', { name: 'Continue with generation 1' }).click()
    expect(await page.getByLabel('SMTP host').inputValue()).toBe('theirs.example.net')
    await review(page)
    await save(page)
    await page.getByText('Generation 2 is saved.').waitFor()
    expect((await studio.fixture.record('studio', 'm-7')).config).toMatchObject({
      port: 25,
      ratio: 0.5,
      host: 'theirs.example.net',
    })
  })

  it('is rejected and kept if another user saved first, and shows who', async () => {
    const { page } = await open(CONFIG)
    await page.getByLabel('port', { exact: true }).fill('25')
    await review(page)
    await page.route('**/events?*', (route) => route.abort())
    await page.route('**/workers/m-7', (route) => route.abort())
    await studio.fixture.patch('studio', 'm-7', { port: 2525 })
    await save(page)
    await page.getByText('Not saved: the config changed while you edited.').waitFor()
    await page.unroute('**/workers/m-7')
    await page.getByText('Generation 1 was saved while you were editing').waitFor({ timeout: 30_000 })
    expect((await studio.fixture.record('studio', 'm-7')).config).toMatchObject({ port: 2525 })
  })

  it('survives a token that is rejected while the user types', async () => {
    const { page } = await open(CONFIG)
    await page.getByLabel('port', { exact: true }).fill('25')
    await review(page)
    await page.route('**/api/v1/**', (route) =>
      route.fulfill({ status: 401, json: { detail: 'the token is not accepted' } }),
    )
    await save(page)
    await page.getByLabel('Token', { exact: true }).waitFor()
    await page.unroute('**/api/v1/**')
    await signIn(page, ADMIN_TOKEN)
    await page.getByLabel('Token', { exact: true }).waitFor({ state: 'hidden' })
    await save(page)
    await page.getByText('Generation 1 is saved.').waitFor()
    expect((await studio.fixture.record('studio', 'm-7')).config).toMatchObject({ port: 25 })
  })

  it('survives a visit to another page, and restores an older generation with the current secrets', async () => {
    await studio.fixture.patch('studio', 'm-7', { port: 25, password: 'hunter2hunter2' })
    await studio.fixture.patch('studio', 'm-7', { port: 26, host: 'new.example.net' })
    const { page } = await open('#/workers/studio/m-7?tab=history')
    await page.getByLabel('Compare from generation 0').check()
    await page.getByRole('region', { name: 'Difference' }).getByText('new.example.net').waitFor()
    await page.getByRole('button', { name: 'Edit from here (generation 0)' }).click()
    expect(await saidInChanges(page)).toMatch(/host[\s\S]*smtp.old.example.net[\s\S]*port[\s\S]*465/)
    await page.getByRole('button', { name: 'Discard' }).click()
    await goTo(page, '#/workers/studio/m-7?tab=history')
    await page.getByLabel('Compare from generation 1').check()
    await page.getByLabel('Compare to generation 1').check()
    expect(await inPage<string>(page, 'location.hash')).toContain('diff=1..1')
    await page.getByRole('button', { name: 'Edit from here (generation 1)' }).click()
    expect(await saidInChanges(page)).toMatch(/host[\s\S]*port/)
    await goTo(page, '#/')
    await goTo(page, `${CONFIG}&view=changes`)
    await save(page)
    await page.getByText('Generation 3 is saved.').waitFor()
    const [row] = await studio.fixture.backend.configs.get([{ type: 'studio', id: 'm-7' }])
    expect(JSON.stringify(row)).toContain('hunter2hunter2')
  })

  it('for a managed worker needs an explicit override (D57)', async () => {
    await studio.fixture.patch('studio', 'm-7', { password: 'hunter2hunter2' })
    await studio.fixture.call('PUT', 'automations/studio/workers/m-7/claim', { managed_by: 'kubernetes:mail/m-7#uid' })
    const { page } = await open(CONFIG)
    await page.getByText('Editing is locked').waitFor()
    expect(await page.getByLabel('port', { exact: true }).isDisabled()).toBe(true)
    const border = "getComputedStyle(document.querySelector('.field .number-input')).borderStyle"
    expect(await inPage(page, border)).toBe('dashed')
    expect(await page.getByRole('button', { name: /^(?:Use default|Set to null|Remove)/ }).count()).toBe(0)
    await look(page, 'config-locked')
    await page.getByRole('button', { name: 'Edit for Git…' }).click()
    await page.getByLabel('slots', { exact: true }).fill('3')
    await page.getByLabel('port', { exact: true }).fill('25')
    await page.getByRole('radiogroup', { name: 'password' }).getByLabel('Replace').check()
    await page.getByPlaceholder('new value').fill('opensesame1')
    await review(page)
    expect(await page.locator('pre.patch').innerText()).toBe(
      `kubectl -n mail patch fleetworker m-7 --type merge -p '{"spec":{"config":{"port":25},"slots":3}}'`,
    )
    await page.getByText('Omitted because they are secrets: password.').waitFor()
    await look(page, 'config-git')
    await page.getByRole('button', { name: 'Lock again' }).click()
    await page.getByRole('button', { name: 'Override here…' }).click()
    expect(await page.getByRole('button', { name: /^Save/ }).isDisabled()).toBe(true)
    await page.getByLabel('I understand that a change made here').check()
    await save(page)
    await page.getByText('Generation 2 is saved.').waitFor()
    expect((await studio.fixture.record('studio', 'm-7')).config).toMatchObject({ slots: 3, port: 25 })
  })

  it('can be edited and saved with the keyboard only', async () => {
    const { page } = await open('#/workers/studio/m-7')
    await page.getByRole('heading', { name: /m-7/ }).waitFor()
    await page.keyboard.press('e')
    const port = page.getByLabel('port', { exact: true })
    await port.waitFor()
    await tabTo(page, port)
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('25')
    const button = page.getByRole('button', { name: /^Review/ })
    await tabTo(page, button)
    await page.keyboard.press('Enter')
    const saving = page.getByRole('button', { name: 'Save 1 change', exact: true })
    await saving.waitFor()
    await tabTo(page, saving)
    await page.keyboard.press('Enter')
    await page.getByText('Generation 1 is saved.').waitFor()
  })
})
