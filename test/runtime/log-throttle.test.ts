import { describe, expect, it } from '@jest/globals'
import { LogThrottle, withThrottledWarnings, VirtualTime, type Log } from '../../src/runtime/index.ts'

describe('LogThrottle', () => {
  it('logs the same key once a minute, with the number of suppressed lines', async () => {
    const time = new VirtualTime()
    const logThrottle = new LogThrottle(time)
    const said: number[] = []
    for (let n = 0; n < 61; n += 1) {
      logThrottle.run('store', (suppressed) => said.push(suppressed))
      await time.advance(1_000)
    }
    expect(said).toEqual([0, 59])
  })

  it('remembers 10,000 keys, and then drops the oldest', () => {
    const logThrottle = new LogThrottle(new VirtualTime())
    let said = 0
    for (let n = 0; n <= 10_000; n += 1) logThrottle.run(`key ${n}`, () => (said += 1))
    logThrottle.run('key 10000', () => (said += 1))
    logThrottle.run('key 0', () => (said += 1))
    expect(said).toBe(10_002)
  })
})

describe('a log with throttled warnings', () => {
  it('logs a warning once a minute, one with another error or task immediately, and other levels always', async () => {
    const time = new VirtualTime()
    const lines: string[] = []
    const at =
      (level: string) =>
      (message: string, fields: object = {}): void =>
        void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
    const log: Log = withThrottledWarnings(
      { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), isEnabled: () => true },
      time,
    )
    for (const error of ['refused', 'refused', new Error('reset'), new Error('reset'), 'refused'])
      log.warn('no answer', { error })
    for (const id of ['a', 'b']) log.warn('lost', { task_id: id })
    log.info('closed')
    log.info('closed')
    await time.advance(60_000)
    log.warn('no answer', { error: 'refused' })
    expect(lines).toEqual([
      'warn no answer {"error":"refused"}',
      'warn no answer {"error":{}}',
      'warn lost {"task_id":"a"}',
      'warn lost {"task_id":"b"}',
      'info closed {}',
      'info closed {}',
      'warn no answer {"error":"refused","suppressed":2}',
    ])
  })
})
