import { describe, expect, it } from '@jest/globals'
import { Writable } from 'node:stream'
import { MasterError } from '../../src/client/index.ts'
import { FleetError } from '../../src/protocol/index.ts'
import { createLog, VirtualTime, withLogFields, type Log, type LogLevel } from '../../src/runtime/index.ts'

async function logged(format: 'text' | 'json', write: (log: Log) => void, level: LogLevel = 'info'): Promise<string[]> {
  let text = ''
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString()
      done()
    },
  })
  const log = createLog({ level, format, clock: new VirtualTime(), stream })
  write(log)
  await log.close()
  return text.split('\n').filter((line) => line !== '')
}

const json = async (write: (log: Log) => void): Promise<Record<string, unknown>[]> =>
  (await logged('json', write)).map((line) => JSON.parse(line) as Record<string, unknown>)

describe('createLog', () => {
  it('writes one line per message, as text and as JSON', async () => {
    const write = (log: Log): void => log.info('worker registered', { worker_id: 'm 7', slots: 3 })
    expect(await logged('text', write)).toEqual([
      '2026-01-01T00:00:00.000Z info  worker registered worker_id="m 7" slots=3',
    ])
    expect(await json(write)).toEqual([
      { time: '2026-01-01T00:00:00.000Z', level: 'info', message: 'worker registered', worker_id: 'm 7', slots: 3 },
    ])
  })

  it('omits lines below the level', async () => {
    expect(
      await logged(
        'text',
        (log) => {
          log.debug('no')
          log.info('no')
          log.warn('yes')
          expect([log.isEnabled('info'), log.isEnabled('error')]).toEqual([false, true])
        },
        'warn',
      ),
    ).toHaveLength(1)
  })

  it('keeps bound fields across asynchronous calls, and adds inner ones to outer ones', async () => {
    const lines = await json((log) =>
      withLogFields({ automation_type: 'mailer' }, () =>
        withLogFields({ slot_id: 1 }, () => log.info('x', { task_id: 't' })),
      ),
    )
    expect(lines[0]).toMatchObject({ automation_type: 'mailer', slot_id: 1, task_id: 't' })
  })

  it('keeps an error with its cause and code', async () => {
    const [line] = await json((log) =>
      log.error('failed', {
        error: Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'E1' }),
      }),
    )
    expect(line?.['error']).toEqual({
      name: 'Error',
      message: 'outer',
      code: 'E1',
      stack: expect.any(String),
      cause: { name: 'TypeError', message: 'inner', stack: expect.any(String) },
    })
  })

  it('keeps a failure that was foreseen without its stack', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const failures = [
      new FleetError('STORAGE_UNAVAILABLE', 'the store is unavailable', { cause }),
      new MasterError('UNREACHABLE', 'the master is unreachable'),
    ]
    const lines = await json((log) => failures.forEach((error) => log.error('failed', { error })))
    expect(lines.map(({ error }) => error)).toEqual([
      {
        name: 'FleetError',
        message: 'the store is unavailable',
        code: 'STORAGE_UNAVAILABLE',
        cause: { name: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED', stack: expect.any(String) },
      },
      { name: 'MasterError', message: 'the master is unreachable', code: 'UNREACHABLE' },
    ])
  })

  it('prevents forged lines, fields and terminal sequences', async () => {
    const hostile = 'a\r\n2026-01-01T00:00:00.000Z error forged \u001b[31m'
    for (const format of ['text', 'json'] as const) {
      const lines = await logged(format, (log) => log.info(hostile, { note: hostile, message: 'mine', level: 'mine' }))
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toContain('\u001b')
      expect(lines[0]).not.toContain('\r')
    }
    expect((await json((log) => log.info('real', { message: 'mine' })))[0]).toMatchObject({
      message: 'real',
      _message: 'mine',
    })
  })

  it('limits fields and lines, and accepts values that cannot be serialised', async () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const [line] = await json((log) =>
      log.info('x', { long: 'x'.repeat(100_000), cycle, big: 10n, deep: { text: 'y'.repeat(20_000) } }),
    )
    expect(line?.['long']).toBe(`${'x'.repeat(8_192)}…[cut, 100000 characters]`)
    expect(line).toMatchObject({ cycle: '[not serialisable]', big: '10' })
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, 'x'.repeat(8_000)]))
    expect((await logged('text', (log) => log.info('x', many)))[0]?.length).toBeLessThan(66_000)
  })
})
