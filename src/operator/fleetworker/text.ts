/** @module operator/fleetworker/text  Text and times as the status holds them. What others wrote is data: cut, and rid of control characters. */
import { interned } from '../interned.ts'

// oxlint-disable-next-line no-control-regex -- They are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

/** At most `max` characters on one line; what was cut ends in an ellipsis. */
export function cleanText(text: string, max: number): string {
  const characters = [...text.toWellFormed().replaceAll(CONTROL, ' ').trim()]
  return interned(characters.length <= max ? characters.join('') : `${characters.slice(0, max - 1).join('')}…`)
}

/** RFC 3339 in whole seconds, as metav1.Time. */
export const kubeTime = (ms: number): string => interned(new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'))
