/** `muster operations` against a real master that carries the operations out, on virtual time. */
import { describe, expect, it } from '@jest/globals'
import { OperationFixture, TYPE } from '../../master/operations/fixture.ts'
import { cells, lines, muster, type Terminal } from './fixture.ts'

const WORKERS = ['w0', 'w1']

async function withOperation() {
  const fixture = await OperationFixture.open()
  await fixture.connect(...WORKERS)
  const { operation } = await fixture.create({
    kind: 'patch',
    workers: WORKERS,
    patch: { slots: 4 },
    per_second: 1,
    parallel: 1,
    bake_seconds: 0,
  })
  const run = (words: string, terminal?: Terminal) => muster(fixture.master.url, `operations ${words}`, terminal)
  const finish = async (): Promise<void> => {
    for (let step = 0; step < 6; step += 1) {
      await fixture.advance(1_000)
      await fixture.applyAll()
    }
  }
  return { fixture, finish, run, name: `${TYPE}/${operation}` }
}

describe('muster operations', () => {
  it('lists and shows an operation, and exports what became of each worker', async () => {
    const { finish, run, name } = await withOperation()
    expect(cells((await run('ls')).out)[1]).toEqual(expect.arrayContaining([name, 'patch', 'running', '2']))
    expect(lines((await run('ls probe')).out)).toHaveLength(1)
    await finish()
    expect((await run(`get ${name}`)).out).toMatch(/state +done\nprogress +2 done of 2\nfields +slots\n/)
    expect(lines((await run(`export ${name}`)).out).map((line) => JSON.parse(line) as object)).toMatchObject([
      { worker_id: 'w0', result: 'done', config_gen: 1 },
      { worker_id: 'w1', result: 'done', config_gen: 1 },
    ])
    expect((await run(`export ${name} --csv`)).out.split('\r\n').slice(0, 2)).toEqual([
      'worker_id,result,config_gen_before,config_gen,message',
      'w0,done,0,1,',
    ])
    expect((await run(`export ${name} --result failed`)).out).toBe('')
  })

  it('cancels an operation after a confirmation, and not twice', async () => {
    const { run, name } = await withOperation()
    const declined = await run(`cancel ${name}`, { answer: false })
    expect([declined.code, declined.questions]).toEqual([1, [`Cancel operation ${name}, of which 2 are pending?`]])
    expect(await run(`cancel ${name} --yes`)).toMatchObject({ code: 0, out: expect.stringMatching(/state +cancelled/) })
    expect(await run(`cancel ${name} --yes`)).toMatchObject({
      code: 5,
      err: expect.stringContaining('the operation is cancelled'),
    })
  })

  it('restores the previous values', async () => {
    const { fixture, finish, run, name } = await withOperation()
    await finish()
    expect(await fixture.slots()).toEqual({ w0: 4, w1: 4 })
    const undone = await run(`undo ${name}`, { answer: true })
    expect(undone.questions).toEqual(['Restore the previous values of slots on up to 2 workers?'])
    await finish()
    expect(await fixture.slots()).toEqual({ w0: 1, w1: 1 })
    expect((await run(`undo ${name} --yes`)).code).not.toBe(0)
  })

  it('previews an operation, and creates it after a confirmation of the number', async () => {
    const { fixture, run } = await withOperation()
    const words = `create ${TYPE} patch region=us --match w* --per-second 2 --stop-after 1 --note why`
    const dry = await run(`${words} --dry-run`)
    expect(dry).toMatchObject({
      code: 0,
      out: expect.stringMatching(/change +2 of 2 workers\nnow +{"region":"eu"} on 2/),
    })
    expect((await run(`${words} --dry-run -o json`)).out).toContain('"change":')
    const declined = await run(words, { answer: false })
    expect([declined.code, declined.questions]).toEqual([1, [`Change 2 workers of ${TYPE}?`]])
    expect(lines((await run('ls')).out)).toHaveLength(2)
    const created = await run(`${words} --yes -o json`)
    expect(created.code).toBe(0)
    expect(JSON.parse(created.out)).toMatchObject({ note: 'why', per_second: 2, stop_after: 1, fields: ['region'] })
    expect(await fixture.gens()).toEqual({ w0: 0, w1: 0 })
    expect(await run(`create ${TYPE} patch slots=1 --worker w0 --yes`)).toMatchObject({
      code: 5,
      err: expect.stringContaining('no worker would change'),
    })
  })

  it('waits for the end of an operation, and fails unless all workers are done', async () => {
    const { finish, run, name } = await withOperation()
    expect(await run(`get ${name} --wait --timeout 1`)).toMatchObject({ code: 6 })
    await finish()
    expect(await run(`get ${name} --wait`)).toMatchObject({ code: 0, out: expect.stringMatching(/state +done/) })
    const { out } = await run(`create ${TYPE} drain --worker w0 --yes -o json`)
    const { operation } = JSON.parse(out) as { operation: string }
    await run(`cancel ${TYPE}/${operation} --yes`)
    expect(await run(`get ${TYPE}/${operation} --wait`)).toMatchObject({ code: 1 })
  })

  it('names what is wrong with an operation to create', async () => {
    const { run } = await withOperation()
    expect(await run(`create ${TYPE} restart --worker w0`)).toMatchObject({
      code: 2,
      err: expect.stringContaining('restart'),
    })
    expect(await run(`create ${TYPE} drain slots=1 --worker w0`)).toMatchObject({ code: 2 })
    expect(await run(`create ${TYPE} patch colour=red --worker w0`)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a field of this config'),
    })
    expect((await run(`create ${TYPE} patch slots=2`)).err).toContain('name workers, id_patterns or match_labels')
  })

  it('names what is wrong with an operand', async () => {
    const { run } = await withOperation()
    expect(await run('get mailer')).toMatchObject({ code: 2, err: expect.stringContaining('is not TYPE/OPERATION') })
    expect(await run('get mailer/none')).toMatchObject({ code: 3, err: expect.stringContaining('has no operation') })
    expect(await run('ls not/a/type')).toMatchObject({ code: 2 })
    expect(await run('export mailer/none --result lost')).toMatchObject({ code: 2 })
  })
})
