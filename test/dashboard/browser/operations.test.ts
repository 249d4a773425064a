// Operations in a real browser, against a real master that carries them out (D189): from the selection of workers to
// the export of the results.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { BusyFleet } from './busy-fleet.ts'
import { saved } from './in-page.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const fleet = new BusyFleet()
let applying: ReturnType<typeof setInterval> | undefined
/** Workers that are in ERROR with 8 slots. Before the change they are not: such workers get time to recover (D190). */
const FAILING = ['m-1', 'm-2']
const SET = 'kubernetes:prod/fleetworkersets/crawlers#1a2b3c4d'
const open = async (hash: string): Promise<Page> => (await signedIn(`${fleet.url}/`, hash)).page

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await fleet.start({ isUpgraded: true })
  await fleet.add('mailer', 30)
  await fleet.add('probe', 2)
  await fleet.apply('mailer', '91bc02f7a1c4', SET, ['m-3'])
  const fails = (id: string, config: string): boolean => FAILING.includes(id) && config.includes('"slots":8')
  applying = setInterval(() => void fleet.applyConfigs('mailer', fails), 500)
}, 60_000)
afterAll(() => {
  clearInterval(applying)
  return fleet.stop()
})

async function selectAll(page: Page, button: 'Config…' | 'Drain…'): Promise<void> {
  await page.getByRole('button', { name: /^Select (?:these|all) / }).click()
  await page.getByRole('button', { name: button }).click()
}

async function setSlots(page: Page, slots: string): Promise<void> {
  await page.getByRole('checkbox', { name: 'slots' }).check()
  await page.getByRole('textbox', { name: 'slots' }).fill(slots)
}

describe('an operation', () => {
  it('is previewed, created and followed, exported, and undone', async () => {
    const page = await open('#/operations')
    await page.getByText('No operations', { exact: true }).waitFor()
    await look(page, 'operations-none')
    await page.getByRole('link', { name: 'the list of workers' }).click()
    await page.getByLabel('Filter workers').fill('type:mailer')
    await page.locator('.filter .found').getByText('30 of 32').waitFor()
    await selectAll(page, 'Config…')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('FleetWorkerSet prod/crawlers manages 1 worker').waitFor()
    await dialog.getByText('This applies to 27 of 30 selected workers. Left out: 3 managed elsewhere.').waitFor()
    expect(await dialog.getByRole('link', { name: 'its rollout' }).getAttribute('href')).toBe('#/automations/mailer')
    await setSlots(page, '9')
    await dialog.getByLabel('Stop after failures').fill('none')
    await dialog.getByText('Stop after failures: enter 1 to 10,000, or nothing.').waitFor()
    await dialog.getByLabel('Stop after failures').fill('')
    await dialog.getByLabel('Note').fill('twice the load since Monday')
    await look(page, 'operation-edit')
    await dialog.getByRole('button', { name: 'Preview' }).click()
    await dialog.getByText('27 of 27 workers would change.').waitFor()
    await dialog.getByText(/generation 0 \(\d+ workers\)/).waitFor()
    expect(await dialog.getByRole('button', { name: 'Save config of 27' }).isDisabled()).toBe(true)
    await look(page, 'operation-preview')
    await dialog.getByLabel('Type 27 to confirm').fill('27')
    await dialog.getByRole('button', { name: 'Save config of 27' }).click()
    await page.getByRole('heading', { level: 1, name: /^Config of mailer / }).waitFor()
    await page.getByText('sets slots: 9 on 27 workers').waitFor()
    await page.locator('.badge').getByText('done').waitFor()
    await page.getByText('27 of 27').waitFor()
    await page.getByText('twice the load since Monday').waitFor()
    await look(page, 'operation-done')
    const lines = (await saved(page, 'Export CSV')).trim().split('\r\n')
    expect([lines[0], lines.length]).toEqual(['worker_id,result,config_gen_before,config_gen,message', 28])
    await page.getByRole('button', { name: 'Undo…' }).click()
    await page.getByText('Workers whose config was changed since are skipped.').waitFor()
    await look(page, 'operation-undo')
    await page.getByLabel('Type 27 to confirm').fill('27')
    await page.getByRole('button', { name: 'Undo 27' }).click()
    await page.getByRole('heading', { level: 1, name: /^Undo of mailer / }).waitFor()
    await page.locator('.badge').getByText('done').waitFor()
    const [m1] = await fleet.backend.configs.get([{ type: 'mailer', id: 'm-1' }])
    expect(JSON.parse(m1?.config ?? '{}')).toMatchObject({ slots: 2 })
    await page.getByRole('link', { name: 'All operations' }).click()
    const rows = page.getByRole('table', { name: 'Operations' }).getByRole('rowheader')
    await rows.getByText(/^Undo /).waitFor() // The list that was read before is shown until the new one arrives.
    expect(await rows.allInnerTexts()).toEqual([expect.stringMatching(/^Undo /), expect.stringMatching(/^Config /)])
  })

  it('stops after failures, names the workers, and another one is cancelled', async () => {
    const page = await open('#/workers?q=type:mailer')
    await page.getByRole('button', { name: /^Select these / }).waitFor()
    await selectAll(page, 'Config…')
    await setSlots(page, '8')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Stop after failures').fill('1')
    await dialog.getByLabel('At a time').fill('2')
    await dialog.getByRole('button', { name: 'Preview' }).click()
    const confirm = dialog.getByLabel(/^Type \d+ to confirm/)
    await confirm.fill((await dialog.locator('.typed code').innerText()).trim())
    await dialog.getByRole('button', { name: /^Save config of \d+/ }).click()
    await page.getByText(/^Stopped: \d workers? ha(?:s|ve) failed\. \d+ workers were not changed\.$/).waitFor()
    const failures = page.getByRole('list', { name: 'First failures' })
    expect(await failures.getByRole('link').first().getAttribute('href')).toMatch(/^#\/workers\/mailer\/m-[12]$/)
    await look(page, 'operation-stopped')
    await page.goto(`${fleet.url}/#/workers?q=type:probe`)
    await page.getByRole('button', { name: /^Select these / }).waitFor()
    await selectAll(page, 'Drain…')
    await page.getByText('A drain cannot be cancelled.').waitFor()
    await dialog.getByLabel('At a time').fill('1')
    await dialog.getByRole('button', { name: 'Preview' }).click()
    await dialog.getByText('2 of 2 workers would drain.').waitFor()
    await dialog.getByRole('button', { name: 'Drain 2' }).click()
    await page.getByText('1 draining').waitFor()
    await page.goto(`${fleet.url}/#/workers`)
    await page.getByRole('link', { name: '1 operation running' }).click()
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByText('1 worker will not be drained. 1 worker drains already').waitFor()
    await page.getByRole('button', { name: 'Cancel the operation' }).click()
    await page.getByText('Cancelled by admin. 1 worker was not changed.').waitFor()
    await page.getByRole('link', { name: 'All operations' }).click()
    await page.getByRole('table', { name: 'Operations' }).getByText('cancelled').waitFor()
    await look(page, 'operations')
  })

  it('is named when it does not exist, and the page names a master that has none', async () => {
    const page = await open('#/operations/mailer/00000000')
    await page.getByRole('heading', { name: 'Operation not found' }).waitFor()
    await page.route('**/api/v1/operations', (route) =>
      route.fulfill({ status: 404, json: { detail: 'no such path' } }),
    )
    await page.goto(`${fleet.url}/#/operations`)
    await page.getByText('This master has no operations').waitFor()
    await page.getByText('Upgrade it to change many workers with an operation.').waitFor()
  })
})
