import { describe, expect, it } from '@jest/globals'
import { heldRows } from '../../../src/dashboard/overview/held-rows.ts'
import { attentionItem } from '../diagnosis/items.ts'

const item = (type: string, count = 1) => attentionItem({ type, count })
const shown = (rows: ReturnType<typeof heldRows>) =>
  rows.map(({ item: { type, count }, isGone }) => `${type} ${count}${isGone ? ' gone' : ''}`)

describe('the rows of the attention list', () => {
  const before = heldRows([], [item('a'), item('b'), item('c')], false)

  it('keep their places while the pointer is in the list: solved ones stay, new ones come last', () => {
    const held = heldRows(before, [item('new'), item('c', 5), item('a')], true)
    expect(shown(held)).toEqual(['a 1', 'b 1 gone', 'c 5', 'new 1'])
    expect(shown(heldRows(held, [item('b', 2), item('new')], true))).toEqual(['a 1 gone', 'b 2', 'c 5 gone', 'new 1'])
  })

  it('follow the list otherwise', () => {
    expect(shown(heldRows(before, [item('new'), item('c', 5)], false))).toEqual(['new 1', 'c 5'])
    expect(shown(heldRows([], [item('a')], true))).toEqual(['a 1'])
  })
})
