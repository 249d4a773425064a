/** `GET …/workers/{id}/logs` (D181), with real workers and with sockets that only look like one. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { LOG_READS, type WorkerLogsBody } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/index.ts'
import { TOKENS } from '../../kit/running-master.ts'
import { connectOther, logsOf, masterOf, runTask, stopWorkers, work } from './fixture.ts'

afterEach(stopWorkers)

const messages = ({ entries }: WorkerLogsBody): string[] => entries.map(({ message }) => message)
const LOGS = { 'muster-features': 'logs', 'muster-version': '9.9.9' }

describe('GET of the log of a worker', () => {
  it('returns what its tasks and the worker itself logged, with slot, task and attempt', async () => {
    const master = await masterOf()
    await work(master, 'w1')
    const id = await runTask(master, [
      { message: 'resized', fields: { ms: 17 } },
      { level: 'warn', message: 'slow' },
    ])
    const { status, body } = await logsOf(master, 'w1')
    expect(status).toBe(200)
    expect(messages(body)).toEqual(expect.arrayContaining(['connected to the master', 'config applied', 'resized']))
    expect(body.entries.find(({ message }) => message === 'resized')).toMatchObject({
      level: 'info',
      slot_id: 0,
      task_id: id,
      attempt: 0,
      fields: { ms: 17 },
    })
    expect(body).toMatchObject({ has_more: false, missed: 0 })
    expect(messages((await logsOf(master, 'w1', `?task_id=${id}&level=warn`)).body)).toEqual(['slow'])
    const rest = await logsOf(master, 'w1', `?after=${body.next}`)
    expect(rest.body).toMatchObject({ entries: [], next: body.next, missed: 0 })
  })

  it('shows no secret of the config, neither in lines of the plugin nor in those of the worker', async () => {
    const master = await masterOf()
    await work(master, 'w1', { password: 'hunter2-of-this-test', max_attempts: 1 })
    const id = await runTask(master, [], { shows: true, fails: true })
    const { body } = await logsOf(master, 'w1', `?task_id=${id}`)
    expect(messages(body)).toEqual(['the password is ********', 'the task failed'])
    expect(JSON.stringify((await logsOf(master, 'w1', '?after=0')).body)).not.toContain('hunter2')
  })

  it('returns hostile text as JSON, cut to the limit of an entry', async () => {
    const master = await masterOf()
    await work(master, 'w1')
    const hostile = '<img src=x onerror=alert(1)>\u202e\u0000\u001b[31m\r\n"\\'
    const id = await runTask(master, [
      { message: hostile, fields: { ['__proto__']: hostile, html: '<script>' } },
      { message: 'x'.repeat(60_000), fields: { pad: 'y'.repeat(60_000) } },
    ])
    const [first, second] = (await logsOf(master, 'w1', `?task_id=${id}`)).body.entries
    expect(first?.message).toBe(hostile)
    expect(second?.message).toMatch(/^x+…\[cut, 60000 characters\]$/)
    expect(JSON.stringify(second).length).toBeLessThan(16_384)
  })

  it('names a worker that is unknown, offline or of a release without the feature, and sends it no frame', async () => {
    const master = await masterOf()
    expect(await logsOf(master, 'none')).toMatchObject({
      status: 404,
      detail: expect.stringContaining('no worker "none"'),
    })
    const old = await connectOther(master, 'old', { 'muster-version': '0.1.0', 'muster-features': 'labels' })
    const foreign = await connectOther(master, 'foreign')
    expect(await logsOf(master, 'old')).toMatchObject({
      status: 404,
      detail: 'worker "old" of type mailer runs version 0.1.0, which cannot show its log; upgrade the worker',
    })
    expect((await logsOf(master, 'foreign')).detail).toContain('runs an older release, which cannot show its log')
    expect([...old.frames, ...foreign.frames].filter(({ type }) => type !== 'ping')).toEqual([])
    old.close()
    await eventually(async () => (await logsOf(master, 'old')).detail.includes('is offline'))
  })

  it('requires the permission read, and a type that the token covers', async () => {
    const master = await masterOf()
    await work(master, 'w1')
    for (const token of [TOKENS.producer, TOKENS.worker, TOKENS.probe])
      expect((await logsOf(master, 'w1', '', token)).status).toBe(403)
    for (const query of ['?limit=0', '?limit=1001', '?level=trace', '?after=-1', '?task_id='])
      expect((await logsOf(master, 'w1', query)).status).toBe(422)
  })

  it('has a limit of reads that wait for one worker, and ends when the worker disconnects', async () => {
    const master = await masterOf()
    const silent = await connectOther(master, 'silent', LOGS)
    const reads = Array.from({ length: LOG_READS.waitingPerWorker }, () => logsOf(master, 'silent'))
    await eventually(() => silent.frames.filter(({ type }) => type === 'read_logs').length === reads.length)
    expect(await logsOf(master, 'silent')).toMatchObject({
      status: 503,
      detail: expect.stringContaining('too many reads'),
    })
    silent.close()
    for (const { detail } of await Promise.all(reads)) expect(detail).toContain('is offline')
  })

  it('fails after 5 s without a response, and ignores responses to another request and of another worker', async () => {
    const master = await masterOf()
    const silent = await connectOther(master, 'silent', LOGS)
    const body = { started_at: 1, entries: [], next: 0, has_more: false, missed: 0 }
    const read = logsOf(master, 'silent')
    await eventually(() => silent.frames.some(({ type }) => type === 'read_logs'))
    silent.send({ type: 'logs', id: 'of no request', ...body })
    const thief = await connectOther(master, 'thief', LOGS)
    thief.send({ type: 'logs', id: String(silent.frames.at(-1)?.['id']), ...body })
    expect(await read).toMatchObject({ status: 408, detail: expect.stringContaining('within 5 s') })
    silent.send({ type: 'logs', id: String(silent.frames.at(-1)?.['id']), ...body })
    silent.send({ type: 'ping', id: 'still open' })
    await eventually(() => silent.frames.some((frame) => frame['id'] === 'still open'))
  }, 15_000)

  it('disconnects a worker whose response does not match the schema', async () => {
    const master = await masterOf()
    const other = await connectOther(master, 'other', LOGS)
    const read = logsOf(master, 'other')
    await eventually(() => other.frames.some(({ type }) => type === 'read_logs'))
    other.send({ type: 'logs', id: String(other.frames.at(-1)?.['id']), entries: [{ message: 1 }] })
    expect((await read).detail).toContain('is offline')
  })
})
