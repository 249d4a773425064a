/**
 * @module cmd/bootstrap
 * Implements `muster bootstrap`, which creates the missing Secrets of an installation and recreates a deleted one. It
 * is a separate command so that it can run with a separate ServiceAccount (D63).
 * Exit codes: 0 stopped, 1 failed, 2 settings.
 */
import { hostname } from 'node:os'
import { startBootstrap } from '../operator/index.ts'
import { aborted, systemRandom, systemTime } from '../runtime/index.ts'
import { DEFAULT_NAMESPACE, readIdentity } from './kube-identity.ts'
import { HELP_TAIL, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { hostPort, kubeName } from './readers.ts'
import { describeSettings, readSettings, setting } from './settings.ts'

const SETTINGS = {
  tokens: setting(kubeName, {
    name: 'SVC_BOOTSTRAP_TOKENS_SECRET',
    help:
      'Name of the Secret for the master and worker tokens. ' +
      'It is created in this namespace with generated tokens if it does not exist, and never changed.',
  }),
  redis: setting(kubeName, {
    name: 'SVC_BOOTSTRAP_REDIS_SECRET',
    help: 'Name of the Secret for the Redis password, created in the same way.',
  }),
  scaler: setting(kubeName, {
    name: 'SVC_BOOTSTRAP_SCALER_SECRET',
    help: 'Name of the Secret for the token of autoscalers (scaler-token), created in the same way.',
  }),
  metricsListen: setting(hostPort, {
    name: 'SVC_METRICS_LISTEN',
    help: 'host:port for /healthz and /readyz.',
    fallback: '0.0.0.0:9090',
  }),
  ...LOG_SETTINGS,
} as const

export function help(): string {
  return (
    'muster bootstrap: create the missing Secrets of an installation in Kubernetes\n\n' +
    '  muster bootstrap --bootstrap-tokens-secret muster-tokens --bootstrap-redis-secret muster-redis\n\n' +
    `${describeSettings(SETTINGS)}\n${HELP_TAIL}`
  )
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, process.env, argv)
  if ([values.tokens, values.redis, values.scaler].every((name) => name === undefined) && faults.length === 0) {
    faults.push({
      name: 'SVC_BOOTSTRAP_TOKENS_SECRET',
      problem:
        'is required unless SVC_BOOTSTRAP_REDIS_SECRET or SVC_BOOTSTRAP_SCALER_SECRET is set; ' +
        'set it, or pass --bootstrap-tokens-secret',
    })
  }
  const reading = readIdentity()
  if (reading.kind === 'fault') faults.push(reading.fault)
  refuse(faults)
  if (reading.kind === 'fault') return 2
  const { identity } = reading
  return withProcess(values, async (log, stop) => {
    const { metricsListen, redis, scaler, tokens } = values
    const bootstrap = await startBootstrap({
      identity,
      namespace: identity.namespace ?? DEFAULT_NAMESPACE,
      tokens,
      redis,
      scaler,
      metricsListen,
      instance: `${hostname()}_${systemRandom.uuid()}`,
      time: systemTime,
      random: systemRandom,
      log,
    })
    await aborted(stop)
    await bootstrap.stop()
    return 0
  })
}
