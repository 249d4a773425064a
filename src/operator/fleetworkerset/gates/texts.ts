/**
 * @module operator/fleetworkerset/gates/texts
 * Formats numbers for the results of gates: short texts for people, such as `31.0 %`, `1.9 s` and `x 1.3`.
 */

const MS_PER_SECOND = 1_000

export const percentText = (share: number): string => `${oneDecimal(100 * share)} %`

export const pointsText = (difference: number): string => `+${oneDecimal(100 * difference)} points`

/** One decimal, or more below 0.1. */
const oneDecimal = (value: number): string => (value === 0 || value >= 0.1 ? value.toFixed(1) : roundedText(value))

export const ratioText = (ratio: number): string => `x ${roundedText(ratio)}`

export const durationText = (ms: number): string =>
  ms < MS_PER_SECOND ? `${roundedText(ms)} ms` : `${roundedText(ms / MS_PER_SECOND)} s`

/** Three digits that matter: `0.0012`, `1.3`, `31`, `12345`. */
export function roundedText(value: number): string {
  if (!Number.isFinite(value)) return '∞'
  if (value >= 100) return value < 1e15 ? String(Math.round(value)) : value.toExponential(2)
  return String(Number(value.toPrecision(3)))
}
