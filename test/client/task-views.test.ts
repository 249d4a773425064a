/** Tests how the published client finds and lists tasks, and what it shows of them. */
import { describe, expect, it } from '@jest/globals'
import { UnsupportedByMaster } from '../../src/client/public.ts'
import { TOKENS } from '../kit/running-master.ts'
import { makeDead, register, throughProxy } from './fixture.ts'
import { failureOf, published, publishedClient, rpc, WORKER } from './published-fixture.ts'

type Reserved = { tasks: { task_id: string; token: number }[] }

async function listed<T>(tasks: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const task of tasks) all.push(task)
  return all
}

describe('getTask', () => {
  it('shows the progress of a run and the attempts before it (D114, D115)', async () => {
    const { master, mails } = await published()
    await register(master, WORKER)
    await mails.submit({ to: 'ada' }, { id: 'a' })
    expect(await mails.getTask('a')).toEqual({ id: 'a', place: 'pending', attempts: [] })
    const reserve = async () => {
      const { tasks } = await rpc<Reserved>(master, 'tasks.reserve', { limit: 1 })
      return { task_id: 'a', token: tasks[0]?.token }
    }
    const first = await reserve()
    await rpc(master, 'tasks.nack', { tasks: [{ ...first, error: 'no such host', retry_in_ms: 0 }] })
    const second = await reserve()
    await rpc(master, 'tasks.extend', { tasks: [{ ...second, progress: { page: 7 } }] })
    const state = await mails.getTask('a')
    expect(state).toEqual({
      id: 'a',
      place: 'in_flight',
      attempts: [{ attempt: 1, at: expect.any(Date), kind: 'failed', error: 'no such host', workerId: WORKER }],
      progress: { page: 7 },
      progressAt: expect.any(Date),
    })
    for (const at of [state.attempts[0]?.at, state.progressAt])
      expect(Math.abs((at?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000)
  })
})

describe('findTask', () => {
  it('finds a task by its id alone, in the types of the token (D116)', async () => {
    const { client, master, mails } = await published()
    await mails.submit({ to: 'ada' }, { id: 'a', delaySeconds: 60 })
    expect(await client.findTask('a')).toEqual([{ type: 'mailer', id: 'a', place: 'scheduled', attempts: [] }])
    expect(await client.findTask('none/such')).toEqual([])
    expect(await publishedClient(master.url, { token: TOKENS.probe }).findTask('a')).toEqual([])
  })

  it('rejects with UnsupportedByMaster if the master does not know the call', async () => {
    const headers = { 'content-type': 'application/json', 'muster-epoch': 'e' }
    const { proxy } = await throughProxy([{ status: 404, headers, body: '{"detail":"there is no such path"}' }])
    const error = await failureOf(publishedClient(proxy.url).findTask('a'))
    expect(error).toBeInstanceOf(UnsupportedByMaster)
    expect(error).toMatchObject({ code: 'NOT_FOUND', retryable: false, message: 'there is no such path' })
  })
})

describe('listTasks', () => {
  it('yields the tasks that match place, labels and text (D116)', async () => {
    const { master, mails } = await published()
    await makeDead(master, ['dead'])
    await register(master, WORKER)
    await mails.submit({ to: 'ada' }, { id: 'a', labels: { tenant: 'acme', region: 'eu' } })
    await rpc(master, 'tasks.reserve', { limit: 1 })
    await mails.submit({ to: 'bob' }, { id: 'b', labels: { tenant: 'acme' }, priority: 3 })
    await mails.submit({ to: 'cyd' }, { id: 'c', delaySeconds: 60 })
    const at = expect.any(Date)
    const none = { attempt: 0, priority: 0, notBefore: null, labels: {}, workerId: null, lastError: null, at: null }
    const task = (id: string, place: string, to: string) => ({ ...none, id, place, payload: { to }, submittedAt: at })
    const labels = { tenant: 'acme', region: 'eu' }
    expect(await listed(mails.listTasks())).toEqual([
      { ...task('b', 'pending', 'bob'), labels: { tenant: 'acme' }, priority: 3 },
      { ...task('a', 'in_flight', 'ada'), labels, workerId: WORKER, at },
      { ...task('c', 'scheduled', 'cyd'), notBefore: at, at },
      { ...task('dead', 'dead', 'dead'), attempt: 1, lastError: 'no such address: dead', at },
    ])
    const idsOf = async (options: Parameters<typeof mails.listTasks>[0]) =>
      (await listed(mails.listTasks(options))).map(({ id }) => id)
    expect(await idsOf({ place: 'scheduled' })).toEqual(['c'])
    expect(await idsOf({ labels: { tenant: 'acme' } })).toEqual(['b', 'a'])
    expect(await idsOf({ labels: { tenant: 'acme', region: 'eu' } })).toEqual(['a'])
    expect(await idsOf({ text: 'BOB' })).toEqual(['b'])
    expect(await idsOf({ place: 'dead', text: 'bob' })).toEqual([])
  })

  it('reads page after page, and none when the caller stops', async () => {
    let requests = 0
    const counting: typeof fetch = (url, init) => {
      if (init?.method === 'GET') requests += 1
      return fetch(url, init)
    }
    const { mails } = await published({ fetch: counting })
    const ids = Array.from({ length: 2_300 }, (_, at) => `t-${at}`)
    await mails.submitMany(ids.map((id) => ({ id, payload: { to: id } })))
    expect((await listed(mails.listTasks())).map(({ id }) => id)).toEqual(ids)
    expect(requests).toBe(3)
    for await (const { id } of mails.listTasks()) if (id === 't-3') break
    expect(requests).toBe(4)
  })

  it('throws the reason of the signal, and the error of a rejected request', async () => {
    const { client, mails } = await published()
    await mails.submitMany(Array.from({ length: 1_001 }, () => ({ payload: { to: 'ada' } })))
    const end = new AbortController()
    const reason = new Error('the caller left')
    let count = 0
    const reading = (async () => {
      for await (const { id } of mails.listTasks({ signal: end.signal })) {
        void id
        count += 1
        if (count === 1_000) end.abort(reason)
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(count).toBe(1_000)
    expect(await failureOf(client.automation('nowhere').listTasks().next())).toMatchObject({ code: 'NOT_FOUND' })
    expect(await failureOf(mails.listTasks({ text: '' }).next())).toMatchObject({ code: 'INVALID' })
  })
})
