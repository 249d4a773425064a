import { describe, expect, it } from '@jest/globals'
import { expiryText } from '../../../src/dashboard/api/me.ts'

describe('expiryText', () => {
  const NOW_MS = Date.parse('2026-11-30T12:00:00Z')
  const DAY = 86_400
  const at = (days: number) => expiryText({ expires_at: NOW_MS / 1_000 + days * DAY }, NOW_MS)

  it('shows the days that are left when there are fewer than 14 (D228)', () => {
    expect([at(14), at(13.9), at(2), at(1.5), at(0.9), at(-1)]).toEqual([
      null,
      'expires in 13 days',
      'expires in 2 days',
      'expires in 1 day',
      'expires within a day',
      'expires within a day',
    ])
    expect(expiryText({}, NOW_MS)).toBeNull()
  })
})
