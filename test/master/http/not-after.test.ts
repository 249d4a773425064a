/** Changes that are valid only until a time of the master (D150). */
import { describe, expect, it } from '@jest/globals'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { register } from '../../client/fixture.ts'
import { runMaster, type TestMaster } from '../../kit/running-master.ts'

const TYPE = '/api/v1/automations/mailer'
const CONFIG = `${TYPE}/workers/w0/config`

async function fixture(workers = 1) {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: seededRandom(1) })
  const master = await runMaster({ backend, clock: time, timers: time })
  for (let n = 0; n < workers; n += 1) await register(master, `w${n}`)
  return { time, backend, master }
}

const change = (master: TestMaster, notAfter: string, method = 'PATCH', path = CONFIG, body: object = { slots: 3 }) =>
  master.call(method, path, { body, headers: { 'muster-not-after': notAfter } })

const slotsOf = async (master: TestMaster, id = 'w0'): Promise<unknown> => {
  const { json } = await master.call('GET', `${TYPE}/workers/${id}`)
  return (json as { config: { slots: number } }).config.slots
}

describe('a change with muster-not-after', () => {
  it('is carried out until that time, and refused afterwards without a trace', async () => {
    const { master, time } = await fixture()
    const nowSeconds = time.wallMs() / 1_000
    const late = await change(master, String(nowSeconds - 0.001))
    expect([late.status, (late.json as { detail: string }).detail]).toEqual([
      412,
      `this change was valid until ${nowSeconds - 0.001}, and it is ${nowSeconds} at the master; nothing was changed`,
    ])
    expect(await slotsOf(master)).toBe(1)
    for (const [method, path, body] of [
      ['PUT', 'workers/w0/claim', { managed_by: 'us' }],
      ['DELETE', 'workers/w0', {}],
      ['POST', 'workers/w0/drain', {}],
      ['PUT', 'revisions/r', { config: {} }],
    ] as const) {
      const { status } = await change(master, String(nowSeconds - 1), method, `${TYPE}/${path}`, body)
      expect([method, path, status]).toEqual([method, path, 412])
    }
    expect((await change(master, String(nowSeconds))).status).toBe(200)
    expect(await slotsOf(master)).toBe(3)
  })

  it.each(['', 'soon', '-1', '1e9', '1.2345', '9'.repeat(12), '1, 2'])('refuses %j with 400', async (value) => {
    const { master } = await fixture()
    const { status, json } = await change(master, value)
    expect([status, json]).toEqual([
      400,
      expect.objectContaining({
        detail: 'the header muster-not-after must be unix seconds with at most 3 decimals, for example 1764374400.5',
      }),
    ])
    expect(await slotsOf(master)).toBe(1)
  })

  it.each(['1', 'soon'])('has no effect on reads: %j', async (value) => {
    const { master } = await fixture()
    const { status } = await master.call('GET', `${TYPE}/workers/w0`, { headers: { 'muster-not-after': value } })
    expect(status).toBe(200)
  })

  it('stops a bulk change between two steps of the store; the other workers keep what they have', async () => {
    const { master, backend, time } = await fixture(250)
    expect((await master.call('PUT', `${TYPE}/revisions/r1`, { body: { config: { slots: 4 } } })).status).toBe(200)
    const { epoch } = await backend.meta.info()
    const putMany = backend.configs.putMany.bind(backend.configs)
    backend.configs.putMany = async (...args) => {
      const results = await putMany(...args)
      await time.advance(10_000)
      return results
    }
    const workers = Array.from({ length: 250 }, (_, n) => ({
      worker_id: `w${n}`,
      if_match: `${epoch}.0`,
      if_managed_by: null,
    }))
    const { json } = await master.call('POST', `${TYPE}/configs`, {
      body: { revision: 'r1', workers },
      headers: { 'muster-not-after': String(time.wallMs() / 1_000 + 5) },
    })
    const { results } = json as { results: { error?: { status: number } }[] }
    expect(results.slice(0, 200).every(({ error }) => error === undefined)).toBe(true)
    expect(results.slice(200).every(({ error }) => error?.status === 412)).toBe(true)
    expect([await slotsOf(master, 'w199'), await slotsOf(master, 'w200')]).toEqual([4, 1])
  })
})
