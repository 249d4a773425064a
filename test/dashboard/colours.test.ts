// The colours of the page meet WCAG 2.2, 1.4.3 (text 4.5:1) and 1.4.11 (lines 3:1).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const css = readFileSync(join(process.cwd(), 'src/dashboard/styles/tokens.css'), 'utf8')
const themes = [...css.matchAll(/:root[^{]*\{(?<body>[^}]*--page[^}]*)\}/g)].map(({ groups }) =>
  coloursOf(groups?.['body'] ?? ''),
)

function coloursOf(body: string): ReadonlyMap<string, string> {
  return new Map(
    [...body.matchAll(/--(?<name>[a-z-]+): (?<colour>#[0-9a-f]{6})/g)].map(({ groups }) => [
      groups?.['name'] ?? '',
      groups?.['colour'] ?? '',
    ]),
  )
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(theme: ReadonlyMap<string, string>, one: string, other: string): number {
  const [light = 0, dark = 0] = [one, other].map((name) => luminance(theme.get(name) ?? '')).toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

describe.each(themes.map((theme, index) => ({ name: ['light', 'dark', "system's dark"][index], theme })))(
  'the $name theme',
  ({ theme }) => {
    it('shows text with a contrast of at least 4.5 to 1 on page and panel', () => {
      for (const text of ['text', 'soft', 'link', 'good', 'warn', 'bad', 'offline']) {
        for (const ground of ['page', 'panel', 'wash'])
          expect([text, ground, contrast(theme, text, ground) >= 4.5]).toEqual([text, ground, true])
      }
      for (const ground of ['link', 'bad'])
        expect([ground, contrast(theme, 'on-link', ground) >= 4.5]).toEqual([ground, true])
    })

    it('shows lines with a contrast of at least 3 to 1', () => {
      for (const ground of ['page', 'panel'])
        expect([ground, contrast(theme, 'line', ground) >= 3]).toEqual([ground, true])
    })
  },
)

describe('the themes', () => {
  it('define the same names for light and dark', () => {
    expect(themes).toHaveLength(3)
    expect([...(themes[1]?.keys() ?? [])]).toEqual([...(themes[0]?.keys() ?? [])])
  })

  it('use the same dark colours for the dark setting and the dark system preference', () => {
    expect(themes[2]).toEqual(themes[1])
  })
})
