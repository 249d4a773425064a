/**
 * @module operator/fleetworkerset/gates/texts
 * Formats numbers for the results of gates: short texts for people, such as `31.0 %`, `1.9 s` and `x 1.3`.
 */

const MS_PER_SECOND = 1_000

export const percentText = (share: number): string => `${(100 * share).toFixed(1)} %`

export const pointsText = (difference: number): string => `+${(100 * difference).toFixed(1)} points`

export const ratioText = (ratio: number): string => `x ${roundedText(ratio)}`

export const durationText = (ms: number): string =>
  ms < MS_PER_SECOND ? `${roundedText(ms)} ms` : `${roundedText(ms / MS_PER_SECOND)} s`

/** Three digits that matter: `0.0012`, `1.3`, `31`, `12345`. */
export function roundedText(value: number): string {
  if (!Number.isFinite(value)) return '∞'
  if (value >= 100) return value < 1e15 ? String(Math.round(value)) : value.toExponential(2)
  return String(Number(value.toPrecision(3)))
}
