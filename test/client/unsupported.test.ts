/** Tests the published client with masters that do not know what it uses. */
import { describe, expect, it } from '@jest/globals'
import { UnsupportedByMaster } from '../../src/client/public.ts'
import { eventually } from '../kit/index.ts'
import { runMaster, type TestMaster } from '../kit/running-master.ts'
import { throughProxy } from './fixture.ts'
import { failureOf, mailer, published, publishedClient } from './published-fixture.ts'

const UNSUPPORTED = { name: 'UnsupportedByMaster', outcome: 'not_done' }

/** Lets the master see another live master for 15 s, which has recorded nothing: of a release before D120. */
async function besideOlderMaster(master: TestMaster): Promise<void> {
  await master.backend.meta.beat('older')
  await eventually(async () => (await mastersOf(master)) === 2)
}

const mastersOf = async (master: TestMaster): Promise<number> =>
  ((await master.call('GET', '/api/v1/me')).json as { masters: unknown[] }).masters.length

describe('a field of a task that a master does not know', () => {
  it('rejects with UnsupportedByMaster, and with MusterError if it is a field of the payload or a label', async () => {
    const { url } = await runMaster()
    /** A real master rejects a field that only later releases know. */
    const later: typeof fetch = (address, init) => {
      const body = ((init?.body ?? '') as string).replace('"task_id"', '"later_field":1,"task_id"')
      return fetch(address, { ...init, body })
    }
    const mails = publishedClient(url, { fetch: later }).automation<typeof mailer>('mailer')
    const error = await failureOf(mails.submit({ to: 'ada' }))
    expect(error).toBeInstanceOf(UnsupportedByMaster)
    expect(error).toMatchObject({ ...UNSUPPORTED, code: 'INVALID', retryable: false })
    expect(error.faults.map(({ field }) => field)).toEqual(['/later_field'])
    const { client } = await published()
    const strict = client.automation('mailer')
    const wrongLabel = await failureOf(strict.submit({ to: 'ada' }, { labels: { Tenant: 'a' } }))
    const wrongPayload = await failureOf(strict.submit({ to: 7 }))
    for (const other of [wrongLabel, wrongPayload]) {
      expect(other).not.toBeInstanceOf(UnsupportedByMaster)
      expect(other).toMatchObject({ name: 'MusterError', code: 'INVALID' })
    }
  })

  it('rejects a call whose method the master does not know', async () => {
    const headers = { 'content-type': 'application/json', 'muster-epoch': 'e', allow: 'POST' }
    const { proxy } = await throughProxy([{ status: 405, headers, body: '{"detail":"use POST"}' }])
    const tasks = publishedClient(proxy.url).automation('mailer').listTasks()
    expect(await failureOf(tasks.next())).toMatchObject({ ...UNSUPPORTED, code: 'METHOD_NOT_ALLOWED' })
  })
})

describe('beside a live master of an older release (D130)', () => {
  it('an added field and a cancel reject when the timeout has passed; plain submits are queued', async () => {
    const { master, client } = await published({ timeoutMs: 1_000 })
    await besideOlderMaster(master)
    // Without `dedupe` a submit has no added field.
    const plain = publishedClient(master.url, { dedupe: false, timeoutMs: 1_000 }).automation('mailer')
    expect(await plain.submit({ to: 'ada' }, { id: 'a' })).toMatchObject({ id: 'a', isDuplicate: false })
    const error = await failureOf(plain.submit({ to: 'bob' }, { labels: { tenant: 'acme' } }))
    expect(error).toBeInstanceOf(UnsupportedByMaster)
    expect(error).toMatchObject({ ...UNSUPPORTED, code: 'UNAVAILABLE', retryable: true })
    expect(error.message).toContain('"labels" cannot be used yet')
    expect(await failureOf(client.automation('mailer').cancel(['a']))).toMatchObject({
      ...UNSUPPORTED,
      retryable: true,
    })
    expect((await plain.queue()).length).toBe(1)
  }, 30_000)

  it('a submit waits for the end of the upgrade, and can be aborted meanwhile', async () => {
    const { master, mails, batches } = await published({ timeoutMs: 60_000 })
    await besideOlderMaster(master)
    const end = new AbortController()
    const reason = new Error('the caller left')
    const aborted = mails
      .submit({ to: 'bob' }, { id: 'b', retainSeconds: 1, signal: end.signal })
      .catch((e: unknown) => e)
    const submitted = mails.submit({ to: 'ada' }, { id: 'a', retainSeconds: 1 })
    await eventually(async () => batches.length === 2) // The second one 5 s after the first.
    end.abort(reason)
    expect(await aborted).toBe(reason)
    expect(await submitted).toMatchObject({ id: 'a', isDuplicate: false })
    expect((await mails.queue()).items.map(({ id }) => id)).toEqual(['a'])
  }, 90_000)
})
