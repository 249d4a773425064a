/** `muster dead` by groups of errors, and `muster dead edit` (D157, D158, D159). */
import { describe, expect, it } from '@jest/globals'
import { makeDead } from '../../client/fixture.ts'
import { runMaster } from '../../kit/running-master.ts'
import { cells, muster, type Terminal } from './fixture.ts'

async function startMaster() {
  const master = await runMaster()
  return {
    master,
    run: (words: string | readonly string[], terminal?: Terminal) => muster(master.url, words, terminal),
  }
}

describe('muster dead', () => {
  it('groups lists the groups with their patterns, and ls the tasks of one, newest first', async () => {
    const { master, run } = await startMaster()
    await makeDead(master, ['1', '2', 'x'])
    const [head, ...rows] = cells((await run('dead groups mailer')).out)
    expect(head).toEqual(['GROUP', 'TASKS', 'FIRST DIED', 'LAST DIED', 'WORKERS', 'ERROR'])
    expect(rows.map((row) => [row[1], row[5]])).toEqual([
      ['1', 'no such address: x'],
      ['2', 'no such address: <n>'],
    ])
    const group = rows[1]?.[0] ?? ''
    expect(cells((await run(`dead ls mailer --group ${group}`)).out).map(([id]) => id)).toEqual(['TASK', '2', '1'])
    expect(cells((await run('dead ls mailer --newest -n 2')).out).map(([id]) => id)).toEqual(['TASK', 'x', '2'])
  })

  it('replay and remove act on a group, and name its error', async () => {
    const { master, run } = await startMaster()
    await makeDead(master, ['1', '2', 'x'])
    const [, [other] = [], [numbers] = []] = cells((await run('dead groups mailer')).out)
    expect(await run(`dead replay mailer --group ${numbers} --per-second 5`, { answer: false })).toMatchObject({
      code: 1,
      questions: ['Replay 2 dead tasks of mailer with the error "no such address: <n>", 5 a second?'],
    })
    const paced = await run(`dead replay mailer --group ${numbers} --per-second 5 --yes`)
    expect(paced).toMatchObject({ code: 0, out: 'REPLAYED\n2\n' })
    const removed = await run(`dead remove mailer --group ${other}`, { answer: true })
    expect(removed).toMatchObject({
      code: 0,
      out: 'REMOVED\n1\n',
      questions: ['Permanently remove 1 dead task of mailer with the error "no such address: x"?'],
    })
    // The name of earlier releases.
    expect(await run(`dead clear mailer --group ${other} --yes`)).toMatchObject({ code: 3 })
    expect((await master.backend.tasks.counts(['mailer']))[0]).toMatchObject({ dead: 0, scheduled: 2 })
  })

  it('replay and remove reject options that exclude each other', async () => {
    const { run } = await startMaster()
    for (const words of [
      'dead replay mailer --group 0123456789abcdef -n 1',
      'dead replay mailer --group 0123456789abcdef --task-id a',
      'dead replay mailer --per-second 1',
      'dead remove mailer --before 1',
    ])
      expect(await run(`${words} --yes`)).toMatchObject({ code: 2, err: expect.stringContaining('--group') })
  })

  it('edit replays one task with another payload', async () => {
    const { master, run } = await startMaster()
    await makeDead(master, ['1', '2'])
    const edit = (id: string, payload: string) => run(['dead', 'edit', 'mailer', id, '--payload', payload])
    expect(await edit('1', '{"to":"b"}')).toMatchObject({ code: 0, out: 'TASK  OUTCOME\n1     replayed\n' })
    expect(await edit('1', '{"to":"b"}')).toMatchObject({ code: 3, out: 'TASK  OUTCOME\n1     not_dead\n' })
    expect(await edit('2', '[]')).toMatchObject({ code: 2, err: expect.stringContaining('is not an object') })
    expect(await edit('2', '{"to":1}')).toMatchObject({ code: 1, err: expect.stringContaining('/payload/to') })
    const { items } = await master.backend.tasks.queue('mailer', 10)
    expect(items).toMatchObject([{ id: '1', attempt: 0, body: expect.stringContaining('"payload":{"to":"b"}') }])
  })
})
