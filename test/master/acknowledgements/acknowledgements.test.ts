/** Acknowledgements over HTTP: stored, listed for the types of the token, ended and bounded (D171). */
import { describe, expect, it } from '@jest/globals'
import { MAX_ROLLOUTS, type Acknowledgement } from '../../../src/protocol/index.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const LIST = '/api/v1/acknowledgements'
const at = (item: string, type = 'mailer'): string => `/api/v1/automations/${type}/acknowledgements/${item}`

const list = async (master: TestMaster, token?: string): Promise<readonly Acknowledgement[]> =>
  (
    (await master.call('GET', LIST, token === undefined ? {} : { token })).json as {
      acknowledgements: Acknowledgement[]
    }
  ).acknowledgements

describe('acknowledgements', () => {
  it('store, list, replace and remove one, with who acknowledged and when', async () => {
    const master = await runMaster()
    expect(await list(master)).toEqual([])
    const put = await master.call('PUT', at('error'), {
      body: { note: 'vendor informed', seconds: 3_600, until_change: true, count: 2, mark: 'connect ECONNREFUSED' },
      headers: { 'muster-actor': 'dashboard:ana' },
    })
    const shown = {
      type: 'mailer',
      item: 'error',
      note: 'vendor informed',
      actor: 'admin dashboard:ana',
      acknowledged_at: expect.any(Number),
      until: expect.any(Number),
      until_change: true,
      count: 2,
      mark: 'connect ECONNREFUSED',
    }
    expect([put.status, put.json]).toEqual([200, shown])
    const { acknowledged_at: from, until } = put.json as Acknowledgement
    expect((until ?? 0) - from).toBe(3_600)
    expect(await list(master)).toEqual([shown])

    await master.call('PUT', at('error'))
    expect(await list(master)).toMatchObject([{ note: null, until: null, until_change: false, count: 0, mark: null }])
    expect((await master.call('DELETE', at('error'))).json).toEqual({ item: 'error', removed: true })
    expect((await master.call('DELETE', at('error'))).status).toBe(404)
    expect(await list(master)).toEqual([])
  })

  it('list those of the types that the token covers, and need the permission operate', async () => {
    const master = await runMaster()
    await master.call('PUT', at('dead'))
    await master.call('PUT', at('offline', 'probe'))
    const itemsOf = async (token?: string) => (await list(master, token)).map(({ type, item }) => `${type} ${item}`)
    expect(await itemsOf()).toEqual(['mailer dead', 'probe offline'])
    expect(await itemsOf(TOKENS.viewer)).toEqual(['mailer dead'])
    expect((await master.call('PUT', at('dead'), { token: TOKENS.viewer })).status).toBe(403)
    expect((await master.call('PUT', at('dead'), { token: TOKENS.responder })).status).toBe(200)
    expect((await master.call('PUT', at('offline', 'probe'), { token: TOKENS.responder })).status).toBe(403)
  })

  it('are no rollouts of the type', async () => {
    const master = await runMaster()
    await master.call('PUT', at('dead'))
    expect((await master.call('GET', '/api/v1/automations/mailer/rollouts')).json).toEqual({ rollouts: [] })
  })

  it.each([
    ['an item with a slash', '%2Fdead', {}],
    ['an empty note', 'dead', { note: '' }],
    ['no time', 'dead', { seconds: 0 }],
    ['a negative count', 'dead', { count: -1 }],
    ['a mark of more than 512 characters', 'dead', { mark: 'x'.repeat(513) }],
    ['an unknown field', 'dead', { unknown: 1 }],
  ])('reject %s', async (_, item, body) => {
    const master = await runMaster()
    expect((await master.call('PUT', at(item), { body })).status).toBe(422)
  })

  it('reject one more than the maximum of a type, but not if others have ended', async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: systemRandom })
    const master = await runMaster({ backend, clock: time, timers: time })
    await master.call('PUT', at('short'), { body: { seconds: 60 } })
    for (let n = 1; n < MAX_ROLLOUTS; n += 1) await master.call('PUT', at(`rollout.s${n}`))
    expect(await list(master)).toHaveLength(MAX_ROLLOUTS)
    expect((await master.call('PUT', at('dead'))).status).toBe(422)
    await time.advance(61_000)
    expect((await list(master)).map(({ item }) => item)).not.toContain('short')
    expect((await master.call('PUT', at('dead'))).status).toBe(200)
    expect(await list(master)).toHaveLength(MAX_ROLLOUTS)
    expect((await master.call('PUT', at('old'))).status).toBe(422)
  })
})
