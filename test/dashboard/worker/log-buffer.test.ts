import { describe, expect, it } from '@jest/globals'
import { EMPTY_LOG, logText, selected, withLogs, type LogLevel } from '../../../src/dashboard/worker/log-buffer.ts'
import type { WorkerLogsBody } from '../../../src/protocol/index.ts'

const entry = (
  seq: number,
  message = `line ${seq}`,
  level: LogLevel = 'info',
  fields: Record<string, unknown> = {},
) => ({
  seq,
  ts: 1_767_225_600 + seq / 1_000,
  level,
  message,
  slot_id: seq % 2,
  task_id: `t-${seq}`,
  attempt: 0,
  fields,
})
const page = (entries: WorkerLogsBody['entries'], missed: number | null = 0): WorkerLogsBody => ({
  started_at: 1,
  entries,
  next: entries.at(-1)?.seq ?? 0,
  has_more: false,
  missed,
})

describe('the buffer of a log', () => {
  it('marks where entries are missing, and a restart, but not before the first entry', () => {
    const first = withLogs(EMPTY_LOG, page([entry(10)], 9))
    const second = withLogs(first, page([entry(20)], 9))
    const third = withLogs(second, page([entry(5_000)], null))
    expect(first.rows).toHaveLength(1)
    expect(logText(third.rows).split('\n')).toEqual([
      '2026-01-01T00:00:00.010Z info  slot 0 task t-10 line 10',
      '-- 9 entries were overwritten before they could be read --',
      '2026-01-01T00:00:00.020Z info  slot 0 task t-20 line 20',
      '-- the worker restarted: what follows is the log of its new process --',
      '2026-01-01T00:00:05.000Z info  slot 0 task t-5000 line 5000',
      '',
    ])
  })

  it('keeps the newest 5,000 rows', () => {
    const many = Array.from({ length: 3_000 }, (_, seq) => entry(seq + 1))
    const log = withLogs(withLogs(EMPTY_LOG, page(many)), page(many.map((each) => entry(each.seq + 3_000))))
    expect(log.rows).toHaveLength(5_000)
    expect(log.rows.at(-1)).toMatchObject({ key: '6000' })
  })

  it('selects by level, words, task and slot, and keeps gaps', () => {
    const { rows } = withLogs(
      withLogs(EMPTY_LOG, page([entry(1, 'Slow URL', 'warn', { ms: 17 }), entry(2, 'slow')])),
      page([entry(4, 'failed', 'error')], 1),
    )
    const found = (level: LogLevel | '', filter: string) =>
      selected(rows, level, filter).map((row) => (row.kind === 'gap' ? 'gap' : row.entry.seq))
    expect(found('', '')).toEqual([1, 2, 'gap', 4])
    expect(found('warn', '')).toEqual([1, 'gap', 4])
    expect(found('', 'slow MS=17')).toEqual([1, 'gap'])
    expect(found('', 't-2')).toEqual([2, 'gap'])
    expect(found('', 'slot:0')).toEqual([2, 'gap', 4])
  })

  it('shows control characters and marks of text direction as escapes', () => {
    const { rows } = withLogs(EMPTY_LOG, page([entry(1, 'a\u202eb\u0007\nc', 'info', { html: '<b>' })]))
    expect(rows).toMatchObject([{ text: 'a\\u202eb\\u0007⏎c html=<b>' }])
  })
})
