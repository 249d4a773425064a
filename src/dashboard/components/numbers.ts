/** @module dashboard/components/numbers  Formats counts and measurements. */
import { countText, plural } from '../../diagnosis/texts.ts'

const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

export { countText, plural }
export const measureText = (n: number): string => (Math.abs(n) >= 100 ? countText(n) : fine.format(n))
