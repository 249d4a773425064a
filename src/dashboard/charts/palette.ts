/** @module dashboard/charts/palette  Reads the page's colours for canvas drawing, again after every theme change. */
import { useEffect, useMemo, useState } from 'react'
import { usePreferences } from '../settings/preferences.ts'

export interface Palette {
  readonly text: string
  readonly soft: string
  readonly hair: string
  readonly line: string
  readonly page: string
  readonly panel: string
  readonly series: readonly string[]
  readonly mark: string
}

/** Line dashes that distinguish the series without colour. */
export const DASHES: readonly (readonly number[])[] = [[], [6, 3], [2, 2], [8, 3, 2, 3]]

/** Number of series with distinct looks. */
export const SERIES = DASHES.length

function read(): Palette {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string): string => style.getPropertyValue(name).trim()
  return {
    text: of('--text'),
    soft: of('--soft'),
    hair: of('--hair'),
    line: of('--line'),
    page: of('--page'),
    panel: of('--panel'),
    series: [of('--link'), of('--offline'), of('--warn'), of('--good')],
    mark: of('--offline'),
  }
}

export function usePalette(): Palette {
  usePreferences() // Renders again when the theme preference changes.
  const [, setTurn] = useState(0)
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const update = (): void => setTurn((turn) => turn + 1)
    dark.addEventListener('change', update)
    return () => dark.removeEventListener('change', update)
  }, [])
  const key = JSON.stringify(read())
  return useMemo(() => JSON.parse(key) as Palette, [key])
}
