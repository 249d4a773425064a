/** @module cmd/alert-settings  Defines the settings of the alerts of a master, and where they are sent. */
import type { AlertSettings } from '../master/index.ts'
import { systemTime, type Log } from '../runtime/index.ts'
import { atLeast, httpUrl, text } from './readers.ts'
import { watchedSecret } from './secret-file.ts'
import { setting, type Values } from './settings.ts'

export const ALERTS = {
  alertAfterSeconds: setting(atLeast(0), {
    name: 'SVC_ALERT_AFTER_SECONDS',
    help: 'How long a problem lasts before its alert fires, and is gone before the alert is resolved.',
    fallback: '30',
  }),
  alertWebhookUrl: setting(httpUrl, {
    name: 'SVC_ALERT_WEBHOOK_URL',
    help: 'URL that receives alerts as JSON when they fire and when they are resolved. Redirects are not followed.',
    secret: true,
  }),
  alertWebhookSecret: setting(text, {
    name: 'SVC_ALERT_WEBHOOK_SECRET',
    help: 'Key of the HMAC-SHA256 in the header Muster-Signature. Not set: requests are not signed.',
    secret: true,
  }),
} as const

/** @returns the settings, and a function that stops watching the file of the secret. */
export function readAlerts(
  { alertAfterSeconds, alertWebhookUrl: url, alertWebhookSecret }: Values<typeof ALERTS>,
  log: Log,
): { readonly alerts: AlertSettings; readonly stop: () => void } {
  if (url === undefined) return { alerts: { afterSeconds: alertAfterSeconds, webhook: null }, stop: () => {} }
  const secret = watchedSecret('SVC_ALERT_WEBHOOK_SECRET', alertWebhookSecret ?? '', process.env, systemTime, log)
  return {
    alerts: { afterSeconds: alertAfterSeconds, webhook: { url, secret: () => secret.current() || undefined } },
    stop: () => secret.stop(),
  }
}
