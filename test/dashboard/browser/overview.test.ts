// The overview shows current numbers, although the master counts at most every 5 s (D48).
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { BusyFleet } from './busy-fleet.ts'
import { it } from './it.ts'
import { CHROMIUM, signedIn } from './watched.ts'

const fleet = new BusyFleet()
const WITHIN_MS = 5_000

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  await fleet.start({ isAlone: true })
  await fleet.killTasks('mailer', 'dead', 3, 'ECONNRESET')
}, 60_000)
afterAll(() => fleet.stop())

describe('an overview that was counted just before a change', () => {
  it('shows within 5 s that the dead tasks were replayed', async () => {
    const { page } = await signedIn(`${fleet.url}/`)
    const dead = page.getByText('3 dead tasks').first()
    await dead.waitFor()
    await page.reload()
    await dead.waitFor()
    await page.getByRole('button', { name: /live/ }).waitFor()
    const answer = await fetch(`${fleet.url}/api/v1/automations/mailer/dead/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: '{"n": 3}',
    })
    expect(await answer.json()).toEqual({ replayed: 3 })
    await dead.waitFor({ state: 'detached', timeout: WITHIN_MS })
    await page
      .getByText(/^3 tasks are waiting/)
      .first()
      .waitFor({ timeout: WITHIN_MS })
  })
})
