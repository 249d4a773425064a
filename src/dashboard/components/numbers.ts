/** @module dashboard/components/numbers  Formats counts and measurements. */

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

export const countText = (n: number): string => grouped.format(n)
export const measureText = (n: number): string => (Math.abs(n) >= 100 ? grouped : fine).format(n)

/** `1 worker`, `2 workers`. */
export const plural = (n: number, one: string, many = `${one}s`): string => `${countText(n)} ${n === 1 ? one : many}`
