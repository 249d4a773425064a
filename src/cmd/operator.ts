/**
 * @module cmd/operator
 * Implements `muster operator`, which reconciles the configs of workers with FleetWorker objects of a Kubernetes
 * cluster. API server and credentials are read from `KUBECONFIG`, `~/.kube/config` or the pod's service account, in
 * this order.
 * Exit codes: 0 stopped, 1 failed, 2 settings.
 */
import { hostname } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { parseTenants, startOperator } from '../operator/index.ts'
import { PooledTransport } from '../operator/kube/index.ts'
import { aborted, systemRandom, systemTime } from '../runtime/index.ts'
import { warnOfPlainText } from './plain-text.ts'
import { HELP_TAIL, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { DEFAULT_NAMESPACE, readIdentity } from './kube-identity.ts'
import { flag, hostPort, kubeName, kubeNames, masterUrl, objectNames, text } from './readers.ts'
import { watchedSecret } from './secret-file.ts'
import { describeSettings, readSettings, setting, type SettingFault } from './settings.ts'

const SETTINGS = {
  masterUrl: setting(masterUrl, {
    name: 'SVC_MASTER_URL',
    help: 'URL of the master, or of the TLS proxy in front of it.',
    required: true,
  }),
  token: setting(text, {
    name: 'SVC_API_TOKEN',
    help: 'The admin token, or a token scoped to the managed automations.',
    required: true,
    secret: true,
  }),
  watchNamespaces: setting(kubeNames, {
    name: 'SVC_WATCH_NAMESPACES',
    help: 'Comma-separated namespaces to watch for FleetWorkers. Not set: all.',
  }),
  tenants: setting(parseTenants, {
    name: 'SVC_TENANTS',
    help:
      'JSON object that maps a namespace to the automation types and worker IDs its FleetWorkers may manage; ' +
      '"*" is any. Required unless the operator watches only its own namespace.',
  }),
  metricsListen: setting(hostPort, {
    name: 'SVC_METRICS_LISTEN',
    help: 'host:port for /healthz, /readyz and /metrics.',
    fallback: '0.0.0.0:9090',
  }),
  leaderElect: setting(flag, {
    name: 'SVC_LEADER_ELECT',
    help:
      'Elect a leader among the replicas through a Lease: ' +
      'one replica writes, the others stand by. Without it, run one process only.',
    fallback: 'true',
  }),
  leaseName: setting(kubeName, { name: 'SVC_LEASE_NAME', help: 'Name of the Lease.', fallback: 'muster-operator' }),
  leaseNamespace: setting(kubeName, {
    name: 'SVC_LEASE_NAMESPACE',
    help: "Namespace of the Lease. Not set: the namespace of the pod, or of the kubeconfig's context.",
  }),
  reservedSecrets: setting(objectNames, {
    name: 'SVC_RESERVED_SECRETS',
    help:
      "Comma-separated Secrets in the operator's namespace that configFrom must not read, " +
      "such as Muster's own tokens and passwords.",
  }),
  issuerKeys: setting(kubeName, {
    name: 'SVC_ISSUER_KEYS_CONFIG_MAP',
    help:
      "Name of a ConfigMap in the operator's namespace, to which the public keys of ServiceAccount tokens are copied " +
      'for masters. Not set: they are not copied.',
  }),
  ...LOG_SETTINGS,
} as const

/**
 * The records of a fleet live long, while the data read every minute is garbage immediately. So the heap need not grow
 * far beyond the records, and empty pages can be returned. This saves 50 of 230 MiB at 10,000 FleetWorkers.
 */
const HEAP_FLAGS = ['--heap-growing-percent=40', '--optimize-for-size']
/** Reported to deployments of an older release, in which the operator created these Secrets (D63). */
const MOVED: SettingFault = {
  name: 'SVC_BOOTSTRAP_TOKENS_SECRET',
  problem:
    'is a setting of muster bootstrap; run muster bootstrap as a separate Deployment, ' +
    'mount the Secret it creates here, and set SVC_API_TOKEN_FILE',
}

const NO_TENANTS: SettingFault = {
  name: 'SVC_TENANTS',
  problem:
    'is required unless the operator watches only its own namespace; ' +
    'for example {"team-a": {"types": ["http-probe"], "workers": ["team-a-*"]}}, ' +
    'or {"*": {"types": ["*"], "workers": ["*"]}} if every namespace may manage every worker',
}

/** Whether the operator watches only its own namespace. */
const isAlone = (watched: readonly string[] | undefined, own: string): boolean =>
  watched !== undefined && watched.length > 0 && watched.every((each) => each === own)

export function help(): string {
  return (
    'muster operator: run the operator, which applies FleetWorker objects of Kubernetes to workers\n\n' +
    '  SVC_API_TOKEN_FILE=admin-token muster operator --master-url http://127.0.0.1:8080\n' +
    '  SVC_API_TOKEN_FILE=team-token muster operator --master-url http://muster-master ' +
    '--watch-namespaces team-a \\\n' +
    '    --tenants \'{"team-a": {"types": ["http-probe"], "workers": ["team-a-*"]}}\'\n\n' +
    `${describeSettings(SETTINGS)}\n${HELP_TAIL}`
  )
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, process.env, argv)
  if (values.token === undefined && process.env['SVC_BOOTSTRAP_TOKENS_SECRET'] !== undefined) faults.push(MOVED)
  const reading = readIdentity()
  if (reading.kind === 'fault') faults.push(reading.fault)
  else if (
    values.tenants === undefined &&
    !isAlone(values.watchNamespaces, reading.identity.namespace ?? DEFAULT_NAMESPACE) &&
    !faults.some(({ name }) => name === 'SVC_TENANTS')
  )
    faults.push(NO_TENANTS)
  refuse(faults)
  if (reading.kind === 'fault') return 2
  const { identity } = reading
  for (const each of HEAP_FLAGS) setFlagsFromString(each)
  return withProcess(values, async (log, stop) => {
    warnOfPlainText(values.masterUrl, log)
    const token = watchedSecret('SVC_API_TOKEN', values.token, process.env, systemTime, log)
    const { watchNamespaces = [], metricsListen, leaderElect, leaseName, reservedSecrets = [], tenants } = values
    const namespace = identity.namespace ?? DEFAULT_NAMESPACE
    const lease = { name: leaseName, namespace: values.leaseNamespace ?? namespace }
    try {
      const operator = await startOperator({
        masterUrl: values.masterUrl.href,
        token: token.current,
        createTransport: (deps) => new PooledTransport({ identity, ...deps }),
        namespace,
        watchNamespaces,
        tenants,
        reservedSecrets,
        issuerKeys: values.issuerKeys,
        metricsListen,
        leaderElect,
        lease,
        replica: `${hostname()}_${systemRandom.uuid()}`,
        time: systemTime,
        random: systemRandom,
        log,
      })
      await aborted(stop)
      await operator.stop()
    } finally {
      token.stop()
    }
    return 0
  })
}
