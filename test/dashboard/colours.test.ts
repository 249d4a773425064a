// The colours of the page meet WCAG 2.2, 1.4.3 (text 4.5:1) and 1.4.11 (lines 3:1).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { ENVIRONMENT_FILLS } from '../../src/dashboard/environment/fills.ts'
import { ENVIRONMENT_COLORS } from '../../src/protocol/index.ts'

const css = readFileSync(join(process.cwd(), 'src/dashboard/styles/tokens.css'), 'utf8')
const COLOUR = /--(?<name>[a-z-]+): light-dark\((?<light>#[0-9a-f]{6}), (?<dark>#[0-9a-f]{6})\)/g
const pairs = [...css.matchAll(COLOUR)].map(({ groups = {} }) => groups)
const themes = ['light', 'dark'].map((name) => ({
  name,
  theme: new Map(pairs.map((pair) => [pair['name'] ?? '', pair[name] ?? ''])),
}))

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

describe.each(themes)('the $name theme', ({ theme }) => {
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
})

it('defines each colour for light and dark', () => {
  expect(css.match(/#[0-9a-f]{6}/g)).toHaveLength(2 * pairs.length)
})

it('shows the name of an environment in white with a contrast of at least 4.5 to 1', () => {
  expect(Object.keys(ENVIRONMENT_FILLS)).toEqual([...ENVIRONMENT_COLORS])
  for (const [color, fill] of Object.entries(ENVIRONMENT_FILLS))
    expect([color, 1.05 / (luminance(fill) + 0.05) >= 4.5]).toEqual([color, true])
})
