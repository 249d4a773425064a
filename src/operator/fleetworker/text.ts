/**
 * @module operator/fleetworker/text
 * Formats text and times for the status. Text from other clients is cut and stripped of control characters.
 */
import { interned } from '../interned.ts'

// oxlint-disable-next-line no-control-regex -- The pattern finds control characters.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

/** Cuts to at most `max` characters on one line; text that was cut ends in an ellipsis. */
export function cleanText(text: string, max: number): string {
  const characters = [...text.toWellFormed().replaceAll(CONTROL, ' ').trim()]
  return interned(characters.length <= max ? characters.join('') : `${characters.slice(0, max - 1).join('')}…`)
}

/** RFC 3339 in whole seconds, as metav1.Time. */
export const kubeTime = (ms: number): string => interned(new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z'))
