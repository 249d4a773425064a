// Failures of the store, the master and the token while a page is open. The page shows a message, keeps the last data
// with its age and recovers automatically.
import { afterEach, describe, expect } from '@jest/globals'
import type { Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { it } from './it.ts'
import { look, signIn } from './watched.ts'
import { FleetFixture } from './fleet-fixture.ts'
import { eventually } from '../../kit/index.ts'

/** Twice the limit that the page promises, because other tests run in parallel. */
const BACK_WITHIN_MS = 10_000

let fixture: FleetFixture
let redis: RedisServer | undefined
afterEach(async () => {
  await fixture.stop()
  await redis?.close()
  redis = undefined
})

async function started(store?: string): Promise<void> {
  fixture = new FleetFixture(store)
  await fixture.start()
}

const badge = (page: Page, text: string | RegExp) => page.locator('button.live').getByText(text).waitFor()
/** Measures how long the steps take from now on and asserts the limit. */
async function lasts(what: string, ...awaited: readonly (() => Promise<unknown>)[]): Promise<void> {
  const from = performance.now()
  for (const each of awaited) await each()
  const took = performance.now() - from
  console.info(`${what}: ${(took / 1_000).toFixed(1)} s`)
  expect(took).toBeLessThan(BACK_WITHIN_MS)
}

withRedisServer('a store that becomes unavailable', () => {
  describe('a store that becomes unavailable', () => {
    it('causes a notice above the last data, and the page recovers within seconds of its return', async () => {
      redis = await startRedis({ appendfsync: 'always' })
      await started(redis.url)
      await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
        task_id: 't-1',
        payload: { url: 'http://example.net/' },
      })
      const page = await fixture.signedIn('#/tasks/http-request')
      const row = page.getByRole('table', { name: 'Waiting tasks' }).getByRole('row', { name: /t-1/ })
      await row.waitFor()
      await badge(page, /live/)
      await redis.kill()
      await page.getByText('Temporarily unavailable:').first().waitFor()
      await page
        .getByText(/Showing data from \d\d:\d\d/)
        .first()
        .waitFor()
      expect(await row.isVisible()).toBe(true)
      await look(page, 'redis-unavailable')
      await redis.start()
      await eventually('the master serves', async () => (await fetch(`${fixture.fleet.url}/readyz`)).status === 200)
      await lasts(
        'after the return of Redis',
        () => page.getByText('Temporarily unavailable:').first().waitFor({ state: 'detached' }),
        () => badge(page, /live/),
      )
      await fixture.fleet.ok('POST', '/automations/http-request/tasks', {
        task_id: 't-2',
        payload: { url: 'http://example.net/' },
      })
      await lasts('a task after it', () => page.getByRole('row', { name: /t-2/ }).waitFor())
    })
  })
})

describe('a restarted master', () => {
  it('with a new admin token causes a sign-in, which keeps the page, its filter and its draft', async () => {
    await started()
    await fixture.startWorker('http-request', 'w-1')
    const page = await fixture.signedIn('#/workers/http-request/w-1?tab=config')
    await page.getByLabel('user_agent').fill('typed before')
    await fixture.fleet.stopMaster()
    await fixture.fleet.startMaster({ SVC_ADMIN_TOKEN: 'another-token-of-the-test' })
    await page.getByText('This token is no longer accepted. Sign in with another one.').waitFor()
    await look(page, 'token-revoked')
    await signIn(page, ADMIN_TOKEN)
    await page.getByText('does not accept this token').waitFor()
    await signIn(page, 'another-token-of-the-test')
    await page.getByLabel('Token', { exact: true }).waitFor({ state: 'hidden' })
    expect(await page.getByLabel('user_agent').inputValue()).toBe('typed before')
    await lasts('after the new token', () => badge(page, /live/))
  })
})
