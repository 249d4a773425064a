/** Tests how pages of the repository become pages of the documentation site, and that none is forgotten. */
import { describe, expect, it } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { linkOf, pageOf, SECTIONS } from '../../hack/docs/site.mjs'

const at = { repository: 'https://example.org/muster', tag: 'v1.2.3' }
const page = { source: 'src/master/README.md', route: 'guides/master', label: 'Running a master' }
const bodyOf = (...lines: readonly string[]): string =>
  pageOf(page, ['# Title', '', ...lines, ''].join('\n'), at).split('\n---\n\n')[1] ?? ''

/** Pages for people who change Muster: they are read in the repository. */
const NOT_ON_THE_SITE = [
  'src/diagnosis/README.md',
  'test/bench/NOTES.md',
  'test/bench/operator/NOTES.md',
  'test/bench/operator/SET.md',
  'test/chart/releases/README.md',
  'test/mutation/README.md',
  'test/soak/README.md',
]

describe('pages of the site', () => {
  it('are all pages of the repository, without those for its developers', () => {
    const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n')
    const onSite = SECTIONS.flatMap((section) => section.pages.map(({ source }) => source))
    expect([...onSite, ...NOT_ON_THE_SITE].toSorted()).toEqual(pages.toSorted())
  })

  it.each([
    ['a page', '../storage/README.md', '/guides/storage/'],
    ['a section of a page', '../storage/README.md#backup', '/guides/storage/#backup'],
    ['a folder with a page', '../storage', '/guides/storage/'],
    ['the first page', '../../README.md#developing', '/#developing'],
    ['a section of the same page', '#tokens', '#tokens'],
    ['code', 'master.ts', 'https://example.org/muster/blob/v1.2.3/src/master/master.ts'],
    ['a folder of code', '../runtime', 'https://example.org/muster/tree/v1.2.3/src/runtime'],
    ['another site', 'https://kubernetes.io/x#y', 'https://kubernetes.io/x#y'],
  ])('turn a link to %s into one of the site', (_, target, expected) => {
    expect(linkOf(page.source, target, at)).toBe(expected)
    expect(bodyOf(`See [it](${target}).`)).toBe(`See [it](${expected}).\n`)
  })

  it('fail for a link to a file that does not exist', () => {
    expect(() => linkOf(page.source, 'gone.ts', at)).toThrow('gone.ts')
  })

  it('leave code as it is', () => {
    expect(bodyOf('The pattern `[a](b.ts)`.', '```sh dev', '[a](b.ts) | # x', '```')).toBe(
      'The pattern `[a](b.ts)`.\n```sh\n[a](b.ts) | # x\n```\n',
    )
  })

  it('name the file of a block, and drop what only tests need', () => {
    expect(bodyOf('```js greeter.mjs', 'x()', '```', '<!-- generated: x -->')).toBe(
      '```js title="greeter.mjs"\nx()\n```\n',
    )
  })

  it('put a table into a region with the name of its section', () => {
    expect(bodyOf('## The "first" `one`', '| a |', '|---|', '| b |', '', 'Text.')).toBe(
      [
        '## The "first" `one`',
        '<div class="wide" role="region" tabindex="0" aria-label="The &quot;first&quot; one">',
        '',
        '| a |',
        '|---|',
        '| b |',
        '',
        '</div>',
        '',
        'Text.',
        '',
      ].join('\n'),
    )
  })

  it('have a title, a description and the label of the sidebar', () => {
    const text = '# The *master*\n\nIt is one process, see [the store](../storage/README.md). It has one address.\n'
    expect(JSON.parse(pageOf(page, text, at).split('---\n')[1] ?? '')).toEqual({
      title: 'The master',
      description: 'It is one process, see the store.',
      editUrl: 'https://example.org/muster/edit/main/src/master/README.md',
      sidebar: { label: 'Running a master' },
    })
  })

  it('begin with a heading', () => {
    expect(() => pageOf(page, 'Text.', at)).toThrow('src/master/README.md: a page of the site begins with a heading')
  })
})
