/** Results of tasks through the published client and a real master. */
import { describe, expect, it } from '@jest/globals'
import { TaskFailed } from '../../src/client/public.ts'
import { eventually } from '../kit/index.ts'
import { makeDead, register } from './fixture.ts'
import { complete, published, WORKER } from './published-fixture.ts'

/** A master with a worker, its client, and the number of requests that waited for tasks. */
async function started() {
  const polls: string[][] = []
  const counting: typeof fetch = (url, init) => {
    const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as { task_ids?: string[] }) : {}
    if (body.task_ids !== undefined) polls.push(body.task_ids)
    return fetch(url, init)
  }
  const { master, mails } = await published({ fetch: counting })
  await register(master, WORKER)
  return { master, mails, polls }
}

async function failureOf(result: Promise<unknown>): Promise<TaskFailed> {
  const error: unknown = await result.catch((thrown: unknown) => thrown)
  if (error instanceof TaskFailed) return error
  throw new Error('TaskFailed was expected', { cause: error })
}

describe('result', () => {
  it('resolves with what the run returned, also in another program', async () => {
    const { master, mails } = await started()
    const task = await mails.submit({ to: 'ada' }, { retainSeconds: 60 })
    const result = task.result()
    await complete(master)
    expect(await result).toEqual({ sent: task.id })
    expect(await mails.result(task.id)).toEqual({ sent: task.id })
    expect(Object.keys(task)).toEqual(['id', 'isDuplicate'])
  })

  it('shares one request among many tasks, and settles each by its own end', async () => {
    const { master, mails, polls } = await started()
    const tasks = await Promise.all(['a', 'b', 'c'].map((to) => mails.submit({ to }, { id: to, retainSeconds: 60 })))
    const results = Promise.all(tasks.map((task) => task.result()))
    await eventually('the first poll waits', async () => polls.length > 0)
    await complete(master)
    expect(await results).toEqual(['a', 'b', 'c'].map((sent) => ({ sent })))
    expect(polls[0]).toEqual(['a', 'b', 'c'])
    expect(polls.length).toBeLessThan(4)
  })

  it('adds a task to the request that waits already', async () => {
    const { master, mails, polls } = await started()
    const task = await mails.submit({ to: 'a' }, { id: 'a', retainSeconds: 60, delaySeconds: 3_600 })
    const stop = new AbortController()
    task.result({ signal: stop.signal }).catch(() => {})
    await eventually('the first poll waits', async () => polls.length > 0)
    const second = (await mails.submit({ to: 'b' }, { id: 'b', retainSeconds: 60 })).result()
    await complete(master)
    expect(await second).toEqual({ sent: 'b' })
    expect(polls.some((ids) => ids.includes('a') && ids.includes('b'))).toBe(true)
    stop.abort()
  })

  it('rejects with TaskFailed for a dead and an unknown task, and for a result that was too large', async () => {
    const { master, mails } = await started()
    await makeDead(master, ['dead'])
    expect(await failureOf(mails.result('dead'))).toMatchObject({
      taskId: 'dead',
      place: 'dead',
      attempts: 1,
      lastError: 'no such address: dead',
      message: 'task "dead" is dead: no such address: dead',
    })
    expect(await failureOf(mails.result('nowhere'))).toMatchObject({ place: 'unknown', attempts: 0, lastError: null })
    const large = await mails.submit({ to: 'a' }, { retainSeconds: 60 })
    await complete(master, () => ({ result_omitted: 'too_large' }))
    expect(await failureOf(large.result())).toMatchObject({ place: 'done' })
    const plain = await mails.submit({ to: 'a' })
    await complete(master)
    expect(await failureOf(plain.result())).toMatchObject({ place: 'unknown' })
  })

  it('is null if the run returned nothing', async () => {
    const { master, mails } = await started()
    const task = await mails.submit({ to: 'ada' }, { retainSeconds: 60 })
    await complete(master, () => ({}))
    expect(await task.result()).toBeNull()
  })

  it('ends with the reason of its signal, which does not end the wait for other tasks', async () => {
    const { master, mails } = await started()
    const tasks = [
      await mails.submit({ to: 'a' }, { id: 'a', retainSeconds: 60 }),
      await mails.submit({ to: 'b' }, { id: 'b', retainSeconds: 60 }),
    ]
    const stop = new AbortController()
    const [first, second] = [tasks[0]?.result({ signal: stop.signal }), tasks[1]?.result()]
    stop.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    await complete(master)
    expect(await second).toEqual({ sent: 'b' })
    await expect(mails.result('a', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
  })

  it('rejects with a MusterError when the master refuses the request', async () => {
    const { mails } = await published({ token: 'unknown-token-of-the-test' })
    await expect(mails.result('a')).rejects.toMatchObject({ name: 'MusterError', code: 'FORBIDDEN' })
  })
})
