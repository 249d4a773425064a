/** @module dashboard/environment/fills  Defines the background of an environment's name; the text on it is white. */
import type { EnvironmentColor } from '../../protocol/index.ts'

export const ENVIRONMENT_FILLS: Readonly<Record<EnvironmentColor, string>> = {
  gray: '#525c68',
  red: '#b3261e',
  orange: '#a04100',
  yellow: '#7a5c00',
  green: '#12713a',
  blue: '#0a58ca',
  purple: '#6a3fc4',
}
