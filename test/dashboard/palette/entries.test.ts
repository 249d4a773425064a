// The command palette: what it lists, and what a few letters find.
import { describe, expect, it } from '@jest/globals'
import { entriesOf, foundEntries, MAX_FOUND, type PaletteFacts } from '../../../src/dashboard/palette/entries.ts'
import { matchScore } from '../../../src/dashboard/palette/match.ts'
import { parseRoute } from '../../../src/dashboard/route.ts'
import { row } from '../workers/rows.ts'

const FACTS: PaletteFacts = {
  route: parseRoute('#/'),
  types: [
    { type: 'mailer', hasTasks: true },
    { type: 'probe', hasTasks: false },
  ],
  views: [{ name: 'failing in eu', hash: '#/workers?q=state%3Aerror+label%3Azone%3Deu-1' }],
  canSaveView: true,
  isPaused: false,
}
const ENTRIES = entriesOf(FACTS)
const WORKERS = [
  row('img-04', { automation_type: 'image-resizer' }),
  row('img-40', { automation_type: 'image-resizer' }),
  row('m-7'),
  row('overview-1'),
]
const found = (text: string, workers = WORKERS): string[] =>
  foundEntries(text, ENTRIES, workers).map((entry) => entry.text)

describe('a match of a few letters', () => {
  it.each([
    ['im04', 'image-resizer/img-04'],
    ['img 04', 'image-resizer/img-04'],
    ['04', 'image-resizer/img-04'],
    ['mdead', 'mailer: dead letters'],
    ['OVER', 'overview'],
    ['ü', 'Über'],
  ])('%j is in %j', (query, text) => {
    expect(matchScore(query, text)).not.toBeNull()
  })

  it.each([
    ['40', 'image-resizer/img-04'],
    ['gmi', 'img'],
    ['img 05', 'image-resizer/img-04'],
    ['aeiou', 'a text with each of the letters i need, o and u'],
  ])('%j is not in %j', (query, text) => {
    expect(matchScore(query, text)).toBeNull()
  })

  it('is better as a whole than in order, at the beginning of a word than in one, and in a short text', () => {
    const texts = ['x/ab', 'x/ab-and-more', 'xab', 'x/a-b']
    const scored = texts.map((text) => matchScore('ab', text) ?? 0)
    expect(scored).toEqual(scored.toSorted((a, b) => b - a))
  })
})

describe('the command palette', () => {
  it('lists saved views and pages without a text', () => {
    expect(found('').slice(0, 4)).toEqual(['failing in eu', 'Overview', 'Workers', 'Tasks'])
  })

  it.each([
    ['img04', 'image-resizer/img-04'],
    ['m-7', 'mailer/m-7'],
    ['overv', 'Overview'],
    ['mailer dead', 'mailer: dead letters'],
    ['pause', 'Pause live updates'],
    ['dark', 'Theme: dark'],
    ['failing', 'failing in eu'],
  ])('finds with %j first %j', (text, first) => {
    expect(found(text)[0]).toBe(first)
  })

  it('opens a task by its ID, unless a worker has this name', () => {
    const id = '0198f3a2-7c1d-7e55-9a3b-2f64d0c81e77'
    expect(foundEntries(id, ENTRIES, WORKERS)[0]).toMatchObject({
      kind: 'task',
      to: { kind: 'act', act: 'find', text: id },
    })
    expect(found('order-17').at(-1)).toBe('Open the task order-17')
    expect(found(id, [row(id)])).toEqual([`mailer/${id}`, `Open the task ${id}`])
  })

  it('has the acts of the open worker first, and lists no queue of an automation without tasks', () => {
    const entries = entriesOf({ ...FACTS, route: parseRoute('#/workers/mailer/m-7') })
    expect(entries.slice(0, 6).map(({ to }) => (to.kind === 'hash' ? to.hash : to.act))).toEqual([
      '#/workers/mailer/m-7?tab=config',
      '#/workers/mailer/m-7?tab=history',
      '#/workers/mailer/m-7?tab=slots',
      '#/workers/mailer/m-7?act=pause',
      '#/workers/mailer/m-7?act=drain',
      '#/workers/mailer/m-7?act=forget',
    ])
    expect(ENTRIES.filter(({ text }) => text.startsWith('probe')).map(({ text }) => text)).toEqual([
      'probe: workers',
      'probe: output',
      'probe: automation',
    ])
  })

  it('has entries of one key each, and finds a few of 10,000 workers', () => {
    const keys = ENTRIES.map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    const many = Array.from({ length: 10_000 }, (_, n) => row(`m-${n}`))
    expect(found('m-99', many)).toHaveLength(MAX_FOUND)
    expect(found('m-99', many)[0]).toBe('mailer/m-99')
  })
})
