/** Alerts: problems of the fleet that last, shown to clients and sent to a webhook. */
export { createAlerts } from './alerts.ts'
