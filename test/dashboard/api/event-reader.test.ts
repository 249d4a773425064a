import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { EventReader } from '../../../src/protocol/event-stream/index.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const TEXT =
  'retry: 2000\n\n' +
  ':\n\n' +
  'id: 1\n' +
  'event: worker.state\n' +
  'data: {"id":"é€😀"}\n\n' +
  'id: 2\r\n' +
  'event: reset\r\n' +
  'data: {}\r\n' +
  '\r\n' +
  'id: 3\n\n' +
  'data: two\n' +
  'data: lines\n\n'
const EVENTS = [
  { id: '1', name: 'worker.state', data: '{"id":"é€😀"}' },
  { id: '2', name: 'reset', data: '{}' },
  { id: '3', name: 'message', data: 'two\nlines' },
]

describe('the event reader', () => {
  it('parses the same events from any chunking', () => {
    const all = bytes(TEXT)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: all.length - 1 }), { maxLength: 12 }), (places) => {
        const cuts = [0, ...places.toSorted((a, b) => a - b), all.length]
        const reader = new EventReader()
        const events = cuts.slice(1).flatMap((cut, index) => reader.read(all.subarray(cuts[index], cut)))
        expect(events).toEqual(EVENTS)
        expect(reader.lastId).toBe('3')
      }),
    )
  })

  it('reports the ID of the last complete event, including events without data', () => {
    const reader = new EventReader('7')
    expect(reader.lastId).toBe('7')
    reader.read(bytes('id: 8\n'))
    expect(reader.lastId).toBe('7')
    reader.read(bytes('\n'))
    expect(reader.lastId).toBe('8')
  })

  it('throws for an event that exceeds the size limit', () => {
    const reader = new EventReader()
    expect(() => {
      for (let n = 0; n < 20; n += 1) reader.read(bytes(`data: ${'x'.repeat(100_000)}\n`))
    }).toThrow('longer than 1048576 characters')
  })
})
