import { describe, expect, it } from '@jest/globals'
import { PoppedStore } from '../../../src/dashboard/output/popped.ts'

const entry = (id: string) => ({ id, slot_id: 0, ts: 1, payload: {} })

describe('popped entries', () => {
  it('are kept by type in pop order, unsaved until all of them were written to a file', () => {
    const store = new PoppedStore()
    store.add('mailer', [entry('1'), entry('2')])
    store.add('probe', [entry('9')])
    store.markSaved('mailer')
    expect([store.of('mailer').isSaved, store.hasUnsaved]).toEqual([true, true])
    store.add('mailer', [entry('3')])
    expect(store.of('mailer')).toEqual({ entries: [entry('1'), entry('2'), entry('3')], isSaved: false })
    store.markSaved('mailer')
    store.clear('probe')
    expect(store.hasUnsaved).toBe(false)
  })

  it('are not unsaved after an empty pop', () => {
    const store = new PoppedStore()
    store.add('mailer', [])
    expect(store.hasUnsaved).toBe(false)
  })

  it('are published to listeners until these unsubscribe', () => {
    const store = new PoppedStore()
    let notified = 0
    const stop = store.watch(() => (notified += 1))
    store.add('mailer', [entry('1')])
    stop()
    store.clear('mailer')
    expect(notified).toBe(1)
  })
})
