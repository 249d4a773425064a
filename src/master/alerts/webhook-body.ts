/**
 * @module master/alerts/webhook-body
 * Makes the requests of the webhook: a body in the form of Alertmanager's webhooks (version 4), and its signature.
 * @see D203, https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
 */
import { createHmac } from 'node:crypto'
import type { StoredAlert } from './stored-alert.ts'

/** One alert that fires, or that is resolved. */
export interface Notification {
  readonly alert: StoredAlert
  readonly status: 'firing' | 'resolved'
}

const ALERT_NAMES: Readonly<Record<string, string>> = {
  unserved: 'MusterTasksUnserved',
  rollout: 'MusterRolloutNeedsAttention',
  error: 'MusterWorkersInError',
  failing: 'MusterRunsFail',
  offline: 'MusterWorkersOffline',
  behind: 'MusterWorkersBehindConfig',
  paused: 'MusterQueuePaused',
  old: 'MusterTasksWait',
  dead: 'MusterTasksDie',
  stream: 'MusterStreamNearlyFull',
}
/** The value that Alertmanager has for an alert that fires. */
const NOT_ENDED = '0001-01-01T00:00:00Z'
const isoOf = (seconds: number): string => new Date(seconds * 1_000).toISOString()

/** @param environment The name of the installation; null if it has none. */
export function webhookBody(notifications: readonly Notification[], environment: string | null): string {
  const common = environment === null ? {} : { environment }
  return JSON.stringify({
    version: '4',
    groupKey: 'muster',
    truncatedAlerts: 0,
    status: notifications.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    receiver: 'muster',
    groupLabels: {},
    commonLabels: common,
    commonAnnotations: {},
    externalURL: '',
    alerts: notifications.map(({ alert, status }) => ({
      status,
      labels: {
        alertname: ALERT_NAMES[alert.kind] ?? 'MusterAlert',
        severity: alert.severity,
        automation_type: alert.type,
        kind: alert.kind,
        ...common,
      },
      annotations: { summary: `${alert.subject}: ${alert.text}`, subject: alert.subject, count: `${alert.count}` },
      startsAt: isoOf(alert.since),
      endsAt: alert.resolved_at === null ? NOT_ENDED : isoOf(alert.resolved_at),
      generatorURL: '',
      fingerprint: alert.id,
    })),
  })
}

/** The value of `Muster-Signature`: `t=1750000000,v1=HEX`, the HMAC-SHA256 of `1750000000.BODY`. */
export function signatureOf(body: string, secret: string, unixSeconds: number): string {
  const mac = createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex')
  return `t=${unixSeconds},v1=${mac}`
}
