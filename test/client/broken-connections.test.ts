/**
 * Breaks the connection of a batch after each byte of its request and of its response, at commit after every 11th. A
 * worker finishes the tasks before the client repeats the batch, so that only their keys can tell the repetition.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startTestMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'
import { CutProxy, type Cut } from './cut-proxy.ts'
import { register } from './fixture.ts'
import { mailer, publishedClient } from './published-fixture.ts'

const STEP = process.env['SOAK'] === '1' ? 1 : 11
const AT_A_TIME = 24
const TASKS = 3

let master: TestMaster
let delivered: string[]
beforeAll(async () => {
  master = await startTestMaster()
  delivered = []
  await register(master, 'w')
})
afterAll(() => master.stop())

async function rpc<T>(method: string, params: object): Promise<T> {
  const { json } = await master.call('POST', '/api/v1/automations/mailer/workers/w/rpc', {
    token: TOKENS.worker,
    body: { jsonrpc: '2.0', id: 1, method, params },
  })
  return (json as { result: T }).result
}

/** Reserves and finishes all pending tasks. */
async function finishAll(): Promise<void> {
  const { tasks } = await rpc<{ tasks: { task_id: string; token: number; payload: { to: string } }[] }>(
    'tasks.reserve',
    { limit: 500 },
  )
  if (tasks.length === 0) return
  delivered.push(...tasks.map(({ payload }) => payload.to))
  await rpc('tasks.ack', { tasks: tasks.map(({ task_id, token }) => ({ task_id, token })) })
}

/** Submits tasks through a connection that breaks. @returns the bytes that passed. */
async function submitThrough(cut: Cut | null, name: string): Promise<CutProxy['passed']> {
  const proxy = await CutProxy.start(master.url, cut)
  proxy.onCut = finishAll
  try {
    const mails = publishedClient(proxy.url).automation<typeof mailer>('mailer')
    const names = Array.from({ length: TASKS }, (_, at) => `${name}/${at}`)
    const tasks = await Promise.all(names.map((to) => mails.submit({ to })))
    expect(tasks.map(({ isDuplicate }) => isDuplicate)).toEqual(names.map(() => false))
    return proxy.passed
  } finally {
    await proxy.stop()
  }
}

it(
  'loses and doubles no task of a batch, wherever its connection breaks (G1, G7)',
  async () => {
    const { request, response } = await submitThrough(null, 'whole')
    const cuts: Cut[] = []
    for (let at = 0; at <= request; at += STEP) cuts.push({ direction: 'request', afterBytes: at })
    if (request % STEP !== 0) cuts.push({ direction: 'request', afterBytes: request })
    for (let at = 1; at < response; at += STEP) cuts.push({ direction: 'response', afterBytes: at })
    const names = cuts.map(({ direction, afterBytes }) => `${direction} ${afterBytes}`)
    for (let at = 0; at < cuts.length; at += AT_A_TIME)
      await Promise.all(cuts.slice(at, at + AT_A_TIME).map((cut, n) => submitThrough(cut, names[at + n] ?? '')))
    await finishAll()
    const expected = ['whole', ...names].flatMap((name) => Array.from({ length: TASKS }, (_, at) => `${name}/${at}`))
    expect(delivered.toSorted()).toEqual(expected.toSorted())
  },
  process.env['SOAK'] === '1' ? 300_000 : 60_000,
)
