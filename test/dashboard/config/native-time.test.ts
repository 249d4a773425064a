import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nativeTime, textOfNative, timeFormatOf, type TimeFormat } from '../../../src/dashboard/config/native-time.ts'

const back = (format: TimeFormat, text: string): string | null => {
  const native = nativeTime(format, text)
  return native && textOfNative(format, native.value, native.offset)
}

describe('the input of a date or time', () => {
  it('shows the value without its offset, which is kept', () => {
    expect(nativeTime('date-time', '2026-01-31T09:00:30+05:30')).toEqual({
      value: '2026-01-31T09:00:30',
      offset: '+05:30',
    })
    expect(nativeTime('time', '23:59:59.5Z')).toEqual({ value: '23:59:59.5', offset: 'Z' })
    expect(nativeTime('date', '2024-02-29')).toEqual({ value: '2024-02-29', offset: '' })
  })

  it('writes the seconds that the browser leaves out, and the offset of the old value', () => {
    expect(textOfNative('date-time', '2026-02-01T10:00', '-08:00')).toBe('2026-02-01T10:00:00-08:00')
    expect(textOfNative('time', '10:00', 'Z')).toBe('10:00:00Z')
    expect(textOfNative('date', '2026-02-01', '')).toBe('2026-02-01')
    expect(textOfNative('time', '', 'Z')).toBe('')
  })

  it('begins in UTC', () => {
    expect(nativeTime('date-time', '')).toEqual({ value: '', offset: 'Z' })
    expect(nativeTime('date', '')).toEqual({ value: '', offset: '' })
  })

  it.each([
    ['date', '2026-02-30'],
    ['date', '0000-01-01'],
    ['date', '31.01.2026'],
    ['time', '23:59:60Z'],
    ['time', '24:00:00Z'],
    ['time', '09:00:00'],
    ['date-time', '2026-01-31'],
    ['date-time', '2026-01-31t09:00:00z'],
    ['date-time', '2026-01-31T09:00:00.123456Z'],
    ['date-time', 'tomorrow'],
  ] as const)('is text for the %s %s', (format, text) => {
    expect(nativeTime(format, text)).toBeNull()
  })

  it('never changes a value that the user does not edit', () => {
    const text = fc.oneof(
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.string({ maxLength: 30 }),
      fc.stringMatching(/^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,4})?(Z|[+-]\d\d:\d\d)$/),
      fc.stringMatching(/^\d{4}-[01]\d-[0-3]\d$/),
    )
    fc.assert(
      fc.property(fc.constantFrom('date-time', 'date', 'time'), text, (format, value) => {
        expect([value, null]).toContain(back(format, value))
      }),
      { numRuns: 500 },
    )
  })

  it('exists for three formats', () => {
    expect(['date-time', 'date', 'time', 'uri', 'constructor', undefined].map(timeFormatOf)).toEqual([
      'date-time',
      'date',
      'time',
      undefined,
      undefined,
      undefined,
    ])
  })
})
