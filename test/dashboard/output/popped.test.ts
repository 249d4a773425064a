import { describe, expect, it } from '@jest/globals'
import { PoppedStore } from '../../../src/dashboard/output/popped.ts'

const entry = (id: string) => ({ id, slot_id: 0, ts: 1, payload: {} })

describe('popped entries', () => {
  it('are kept by type, in the order they were taken, unsaved until a file was made of all', () => {
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

  it('are not unsaved after a pop of nothing', () => {
    const store = new PoppedStore()
    store.add('mailer', [])
    expect(store.hasUnsaved).toBe(false)
  })

  it('are told to who watches, until it stops', () => {
    const store = new PoppedStore()
    let told = 0
    const stop = store.watch(() => (told += 1))
    store.add('mailer', [entry('1')])
    stop()
    store.clear('mailer')
    expect(told).toBe(1)
  })
})
