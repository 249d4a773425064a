/** Tests who waits for pool items, and which releases are refused. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
})
afterEach(() => fixture.close())

const claim = (worker: string, slot?: number, task?: string) =>
  fixture.rpc(worker, 'pool.claim', {
    pool: 'accounts',
    hold_ms: 1_000,
    ...(slot !== undefined && { slot_id: slot }),
    ...(task !== undefined && { task_id: task }),
  })
const claims = async () =>
  (await fixture.call('GET', '/pools/accounts/claims')).json as { waiting: number; waiters: { since: number }[] }

describe('a run that waits for an item', () => {
  it('is counted once, from its first claim in vain, until a minute after the last one', async () => {
    const began = fixture.time.wallMs() / 1_000
    await claim('w', 1, 't')
    await fixture.time.advance(50_000)
    await claim('w', 1, 't')
    await claim('old')
    await fixture.time.advance(50_000)
    expect(await claims()).toMatchObject({
      waiting: 2,
      waiters: [
        { automation_type: 'mailer', worker_id: 'w', slot_id: 1, task_id: 't', since: began },
        { worker_id: 'old', since: began + 50 },
      ],
    })
    await fixture.time.advance(10_000)
    expect(await claims()).toMatchObject({ waiting: 0, waiters: [] })
  })

  it('waits no longer when it gets an item', async () => {
    await claim('w', 1)
    await claim('w', 2)
    await fixture.rpc('w', 'pool.put', { pool: 'accounts', items: [{ id: 'a', tags: {}, payload: { login: 'a' } }] })
    await claim('w', 1)
    expect(await claims()).toMatchObject({ waiting: 1, waiters: [{ slot_id: 2 }] })
  })
})

describe('the release of a claim', () => {
  it('is refused for a pool that no automation declares, and for a body without a token', async () => {
    expect((await fixture.call('POST', '/pools/secrets/claims/release', { body: { id: 'a', token: 1 } })).status).toBe(
      404,
    )
    expect((await fixture.call('POST', '/pools/accounts/claims/release', { body: { id: 'a' } })).status).toBe(422)
  })
})
