/** @module dashboard/alerts/alert-count  Shows in the header how many alerts fire, and links to their list. */
import { plural } from '../components/numbers.ts'
import { openAlerts, useAlerts } from './use-alerts.ts'
import './alerts.css'

export function AlertCount() {
  const open = openAlerts(useAlerts() ?? [])
  if (open.length === 0) return null
  const isCritical = open.some(({ severity }) => severity === 'critical')
  const text = plural(open.length, 'alert')
  return (
    <a className={`alert-count ${isCritical ? 'bad' : 'warn'}`} href="#/" aria-label={`${text} firing`} title={text}>
      <span aria-hidden="true">{isCritical ? '✗' : '▲'} </span>
      {open.length}
    </a>
  )
}
