// Who holds pool items and which worker and task emitted an output, in a real browser against a real master.
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { BusyFleet } from './busy-fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, look, signedIn } from './watched.ts'

const POOL = 'senders'
const fleet = new BusyFleet()
const open = async (hash: string): Promise<Page> => (await signedIn(`${fleet.url}/`, hash)).page

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await fleet.start()
  await fleet.add('mailer', 3)
  await fleet.fillPool(POOL, 4, 1)
}, 60_000)
afterAll(() => fleet.stop())

describe('a pool', () => {
  it('lists who holds each item, and ends a claim that the dialog names', async () => {
    const holder = { type: 'mailer', slotId: 7, taskId: 't-9' }
    const [[held] = []] = await fleet.backend.pools.claim(POOL, [
      { owner: 'm-2', holder, n: 1, holdMs: 600_000, match: {} },
    ])
    const lease = { id: held?.id ?? '', token: held?.token ?? 0 }
    await fleet.backend.pools.extend(POOL, [{ ...lease, holdMs: 600_000 }])
    const page = await open('#/pools')
    const row = page.getByRole('row', { name: /^senders 4 2/ })
    await row.waitFor()
    await look(page, 'pools-table')
    await row.getByRole('link', { name: POOL }).click()
    const claim = page.getByRole('table', { name: 'Claims' }).getByRole('row', { name: lease.id })
    await claim.getByRole('link', { name: 'm-2' }).waitFor()
    expect(await claim.getByRole('link', { name: 't-9' }).getAttribute('href')).toBe('#/tasks/mailer/t-9')
    await look(page, 'pool-claims')
    await claim.getByRole('button', { name: `Release ${lease.id}…` }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/m-2, slot 7, holds this item for task t-9/).waitFor()
    await dialog.getByText(/renewed 1 time/).waitFor()
    await look(page, 'pool-release')
    await dialog.getByRole('button', { name: 'Force release' }).click()
    await page.getByText(`Released ${lease.id}. Its holder is refused from now on.`).waitFor()
    expect(await fleet.backend.pools.extend(POOL, [{ ...lease, holdMs: 600_000 }])).toEqual([{ kind: 'lease_lost' }])
    await claim.waitFor({ state: 'detached' })
  })

  it('shows a claim of an earlier release with what is known of it', async () => {
    const page = await open(`#/pools/${POOL}`)
    const row = page.getByRole('table', { name: 'Claims' }).getByRole('row', { name: /^item-1 test – – –/ })
    await row.waitFor()
  })
})

describe('an output entry', () => {
  it('links its worker and its task, and shows neither where they are not known', async () => {
    await fleet.backend.streams.push('mailer', 'test-of-entries', 1, [
      JSON.stringify({ slot_id: 0, ts: Date.now() / 1_000, payload: { to: 'old' } }),
      JSON.stringify({ slot_id: 5, ts: Date.now() / 1_000, worker_id: 'm-1', task_id: 't-3', payload: { to: 'new' } }),
    ])
    const page = await open('#/output/mailer')
    const entry = page.getByRole('row', { name: /"new"/ })
    expect(await entry.getByRole('link', { name: 'm-1' }).getAttribute('href')).toBe('#/workers/mailer/m-1')
    expect(await entry.getByRole('link', { name: 't-3' }).getAttribute('href')).toBe('#/tasks/mailer/t-3')
    await page.getByRole('row', { name: /unknown 0 –.*"old"/ }).waitFor()
    await look(page, 'output-entries')
  })
})
