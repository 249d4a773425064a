/** `muster audit` against a real master. */
import { describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/eventually.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { cells, lines, muster } from './fixture.ts'

const MAILER = '/api/v1/automations/mailer'

async function start(): Promise<TestMaster> {
  return runMaster({ audit: { classes: new Set(['control']), write: () => true } })
}

const drain = (master: TestMaster, id: string) =>
  master.call('POST', `${MAILER}/workers/${id}/drain`, { headers: { 'muster-actor': 'ana' } })

async function hasStored(master: TestMaster, count: number): Promise<void> {
  await eventually(async () => (await master.backend.audit.list(null, 500)).length === count)
}

describe('muster audit', () => {
  it('lists who changed what, the newest last', async () => {
    const master = await start()
    await drain(master, 'w1')
    await master.call('PUT', `${MAILER}/queue/pause`, { token: TOKENS.responder, body: { seconds: 60 } })
    await hasStored(master, 2)
    const [head, first, second] = cells((await muster(master.url, 'audit ls')).out)
    expect(head).toEqual(['TIME', 'TOKEN', 'CLAIMS', 'ACTION', 'TYPE', 'OBJECT', 'OUTCOME', 'COUNT', 'CALLS', 'FIELDS'])
    expect(first?.slice(2, 7)).toEqual(['ana', 'worker.drain', 'mailer', 'w1', 'refused (404)'])
    expect(second?.slice(1)).toEqual(['responder', '-', 'queue.pause', 'mailer', '-', 'done', '1', '1', '-'])
    const { entries } = JSON.parse((await muster(master.url, 'audit ls --action queue -o json')).out) as {
      entries: object[]
    }
    expect(entries).toMatchObject([{ n: 2, action: 'queue.pause' }])
  })

  it('lists more entries than the API lists in one page', async () => {
    const master = await start()
    const entry = (n: number) =>
      JSON.stringify({ ts: n, actor: null, action: 'worker.drain', outcome: 'done', changed: [], count: 1, calls: 1 })
    for (let page = 0; page < 3; page += 1)
      await master.backend.audit.append(Array.from({ length: 500 }, (_, at) => entry(page * 500 + at)))
    expect(lines((await muster(master.url, 'audit ls -n 1200')).out)).toHaveLength(1_201)
    expect(lines((await muster(master.url, 'audit ls')).out)).toHaveLength(51)
  })

  it('follows new entries until the output is closed', async () => {
    const master = await start()
    await drain(master, 'w1')
    await hasStored(master, 1)
    const closed = new AbortController()
    let isChanged = false
    const following = muster(master.url, 'audit ls --object w2 --follow -o json', {
      unread: closed.signal,
      onOut: (out) => {
        if (out.includes('"n":3')) closed.abort()
      },
    })
    await eventually(async () => {
      if (!isChanged) await drain(master, 'w3')
      if (!isChanged) await drain(master, 'w2')
      isChanged = true
      return closed.signal.aborted
    })
    const { code, out, err } = await following
    expect([code, lines(out).map((line) => (JSON.parse(line) as { object: string }).object)]).toEqual([0, ['w2']])
    expect(err).toBe('no entries\n')
  })

  it('says what to do without an admin token, and refuses a wrong option', async () => {
    const master = await start()
    const refused = await muster(master.url, 'audit ls', { environment: { SVC_API_TOKEN: TOKENS.mailer } })
    expect([refused.code, refused.out]).toEqual([4, ''])
    expect(refused.err).toContain('admin')
    expect((await muster(master.url, 'audit ls -n 0')).code).toBe(2)
    expect((await muster(master.url, 'audit ls --actions worker')).err).toContain('--action')
  })
})
