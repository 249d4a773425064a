/** @module hack/chart/alert-values  The values of the chart for the alerts of the master. */
import { closed, int, secretKey } from './schema.ts'

export const alerts = closed({
  afterSeconds: int(
    'Seconds that a problem lasts before its alert fires, and is gone before the alert is resolved.',
    30,
    0,
    86_400,
  ),
  webhook: secretKey(
    'Secret with the URL that receives alerts when they fire and when they are resolved; "" = none.',
    'url',
  ),
  signature: secretKey(
    'Secret with the key that signs what the webhook sends; "" = requests are not signed.',
    'signing-key',
  ),
})
