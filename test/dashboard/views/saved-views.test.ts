// Saved views, as they are kept in the browser.
import { describe, expect, it } from '@jest/globals'
import { isViewable, parseViews, withView } from '../../../src/dashboard/views/saved-views.ts'

const FAILING = { name: 'failing', hash: '#/workers?q=state%3Aerror' }
const DEAD = { name: 'dead', hash: '#/tasks/mailer?tab=dead' }

describe('saved views', () => {
  it('are of the lists of workers, tasks and output', () => {
    for (const hash of ['#/workers', '#/workers?q=a', '#/tasks/mailer', '#/output/mailer?q=x'])
      expect([hash, isViewable(hash)]).toEqual([hash, true])
    for (const hash of ['#/', '#/workers/mailer/m-7', '#/settings', '#/workersx', 'javascript:alert(1)', ''])
      expect([hash, isViewable(hash)]).toEqual([hash, false])
  })

  it('are read back, without what is not a view', () => {
    expect(parseViews(JSON.stringify([FAILING, DEAD]))).toEqual([FAILING, DEAD])
    expect(parseViews(JSON.stringify([FAILING, { name: 'evil', hash: 'javascript:x' }, { name: 3 }]))).toEqual([
      FAILING,
    ])
    for (const text of [null, '', '{}', 'null', '[3']) expect(parseViews(text)).toEqual([])
  })

  it('replace one of the same name, and are at most 50', () => {
    const changed = { ...FAILING, hash: '#/workers?q=state%3Alate' }
    expect(withView([FAILING, DEAD], changed)).toEqual([changed, DEAD])
    const many = Array.from({ length: 50 }, (_, n) => ({ name: `view ${n}`, hash: '#/workers' }))
    expect(withView(many, FAILING)).toHaveLength(50)
    expect(withView(many, FAILING).at(-1)).toEqual(FAILING)
  })
})
