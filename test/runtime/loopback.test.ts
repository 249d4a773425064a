import { describe, expect, it } from '@jest/globals'
import { isLoopbackHost } from '../../src/runtime/index.ts'

describe('isLoopbackHost', () => {
  it.each(['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])('accepts %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true)
  })

  it.each(['0.0.0.0', '127.0.0.1.example.com', '127.evil', '128.0.0.1', 'localhost.example.com', '[::2]', ''])(
    'rejects %s',
    (host) => {
      expect(isLoopbackHost(host)).toBe(false)
    },
  )
})
