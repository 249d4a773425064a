/** The settings of each subcommand with their defaults, as shown in its help. */
import { describe, expect, it } from '@jest/globals'
import { hostname } from 'node:os'
import { help as bootstrapHelp } from '../../src/cmd/bootstrap.ts'
import { help as devHelp } from '../../src/cmd/dev.ts'
import { help as masterHelp } from '../../src/cmd/master.ts'
import { help as operatorHelp } from '../../src/cmd/operator.ts'
import { help as workerHelp } from '../../src/cmd/worker.ts'

/** Settings that a file may contain, and that have no flag: secrets, and the rules of issuers. */
const IN_A_FILE = /TOKEN|PASSWORD|WEBHOOK|JWT_ISSUERS|CLIENT_SECRET/

/** Parses each variable of a help text with its other form and its default. */
function settingsOf(help: string): Record<string, string> {
  return Object.fromEntries(
    [
      ...help.matchAll(
        /^ {2}(?<name>SVC_\w+), (?:or )?(?<form>[\w-]+)(?:, or SVC_BACKEND_URL_FILE)?\n.*\((?<fallback>[^()]*)\)$/gm,
      ),
    ].map(({ groups: { name = '', form = '', fallback = '' } = {} }) => {
      expect(form).toBe(
        name.match(IN_A_FILE) !== null && !/PER_TOKEN|BOOTSTRAP|SHORT_TOKENS/.test(name)
          ? `${name}_FILE`
          : `--${name.slice('SVC_'.length).toLowerCase().replaceAll('_', '-')}`,
      )
      return [name, fallback]
    }),
  )
}

const LOGS = { SVC_LOG_FORMAT: 'default text', SVC_LOG_LEVEL: 'default info', SVC_OTEL_ENABLED: 'default 0' }

describe('the settings', () => {
  it('D34f, D54a, D22a: of the master', () => {
    expect(settingsOf(masterHelp())).toMatchObject({
      SVC_LISTEN: 'default 0.0.0.0:8080',
      SVC_BACKEND_URL: 'default filedb://.muster/master.db',
      SVC_AUTOMATIONS: 'not set',
      SVC_ADMIN_TOKEN: 'not set',
      SVC_WORKER_TOKEN: 'not set',
      SVC_WORKER_TOKENS: 'not set',
      SVC_TOKEN_SCOPES: 'not set',
      SVC_SUBMIT_RPS_PER_TOKEN: 'default 0',
      SVC_IDEMPOTENCY_TTL_SECONDS: 'default 86400',
      SVC_MAX_BODY_BYTES: 'default 1048576',
      SVC_MAX_LOST_LEASES: 'default 10',
      SVC_MAX_QUEUE_LENGTH: 'default 5000000',
      SVC_MAX_SOCKETS: 'default 50000',
      SVC_CORS_ORIGINS: 'not set',
      SVC_ENVIRONMENT_NAME: 'not set',
      SVC_ENVIRONMENT_COLOR: 'default gray',
      SVC_BACKEND_PASSWORD: 'not set',
      SVC_BACKEND_CA_FILE: 'not set',
      SVC_BACKEND_CERT_FILE: 'not set',
      SVC_BACKEND_KEY_FILE: 'not set',
      ...LOGS,
    })
  })

  it('D34g, D54c: of the worker', () => {
    expect(settingsOf(workerHelp())).toMatchObject({
      SVC_MASTER_URL: 'required',
      SVC_WORKER_TOKEN: 'required',
      SVC_AUTOMATION_TYPE: 'required',
      SVC_WORKER_ID: `default ${hostname()}`,
      SVC_WORKER_LABELS: 'not set',
      SVC_AUTOMATIONS: 'not set',
      SVC_DRAIN_TIMEOUT_SECONDS: 'default 30',
      SVC_HEALTH_LISTEN: 'not set',
      ...LOGS,
    })
  })

  it('D34h, D44a, D54d: of the operator, which has one master', () => {
    expect(settingsOf(operatorHelp())).toEqual({
      SVC_MASTER_URL: 'required',
      SVC_API_TOKEN: 'required',
      SVC_WATCH_NAMESPACES: 'not set',
      SVC_TENANTS: 'not set',
      SVC_RESERVED_SECRETS: 'not set',
      SVC_METRICS_LISTEN: 'default 0.0.0.0:9090',
      SVC_LEADER_ELECT: 'default true',
      SVC_LEASE_NAME: 'default muster-operator',
      SVC_LEASE_NAMESPACE: 'not set',
      SVC_ISSUER_KEYS_CONFIG_MAP: 'not set',
      ...LOGS,
    })
  })

  it('D63: of bootstrap', () => {
    expect(settingsOf(bootstrapHelp())).toEqual({
      SVC_BOOTSTRAP_TOKENS_SECRET: 'not set',
      SVC_BOOTSTRAP_REDIS_SECRET: 'not set',
      SVC_BOOTSTRAP_SCALER_SECRET: 'not set',
      SVC_METRICS_LISTEN: 'default 0.0.0.0:9090',
      ...LOGS,
    })
  })

  it('D34i: of dev', () => {
    expect(settingsOf(devHelp())).toMatchObject({
      SVC_LISTEN: 'default 127.0.0.1:8080',
      SVC_STATE_DIR: 'default .muster',
      SVC_AUTOMATIONS: 'default muster/automations',
    })
  })
})
