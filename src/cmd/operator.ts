/**
 * @module cmd/operator
 * `muster operator`: brings the configs of workers in line with FleetWorker objects of a Kubernetes cluster. Where the API
 * server is, and who we are to it, comes from `KUBECONFIG`, `~/.kube/config` or the pod's service account, in this order.
 * Exit codes: 0 stopped, 1 failed, 2 settings.
 */
import { hostname } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { startOperator } from '../operator/index.ts'
import { defaultIdentity, type KubeIdentity } from '../operator/kube/index.ts'
import { systemRandom, systemTime } from '../runtime/index.ts'
import { aborted, HELP_TAIL, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { flag, hostPort, kubeName, kubeNames, masterUrl, text } from './readers.ts'
import { watchedSecret } from './secret-file.ts'
import { describeSettings, readSettings, setting, type SettingFault } from './settings.ts'

const SETTINGS = {
  masterUrl: setting(masterUrl, {
    name: 'SVC_MASTER_URL',
    help: 'Address of the master, or of the TLS proxy before it.',
    required: true,
  }),
  token: setting(text, {
    name: 'SVC_API_TOKEN',
    help: 'The admin token, or one scoped to the automations whose workers are managed. Not set: that of SVC_BOOTSTRAP_TOKENS_SECRET, one of the two is required.',
    secret: true,
  }),
  watchNamespaces: setting(kubeNames, {
    name: 'SVC_WATCH_NAMESPACES',
    help: 'Comma-separated namespaces whose FleetWorkers are looked after. Not set: all.',
  }),
  metricsListen: setting(hostPort, {
    name: 'SVC_METRICS_LISTEN',
    help: 'host:port for /healthz, /readyz and /metrics.',
    fallback: '0.0.0.0:9090',
  }),
  leaderElect: setting(flag, {
    name: 'SVC_LEADER_ELECT',
    help: 'Share the work with other replicas by a Lease: one writes, the others stand by. Without it there may be one process only.',
    fallback: 'true',
  }),
  leaseName: setting(kubeName, { name: 'SVC_LEASE_NAME', help: 'Name of the Lease.', fallback: 'muster-operator' }),
  leaseNamespace: setting(kubeName, {
    name: 'SVC_LEASE_NAMESPACE',
    help: "Namespace of the Lease. Not set: the pod's own, or that of the kubeconfig's context.",
  }),
  bootstrapTokens: setting(kubeName, {
    name: 'SVC_BOOTSTRAP_TOKENS_SECRET',
    help: "Name of a Secret in the operator's namespace that is created with new tokens for master and workers while it is missing, and otherwise left as it is.",
  }),
  bootstrapRedis: setting(kubeName, {
    name: 'SVC_BOOTSTRAP_REDIS_SECRET',
    help: 'The same, with a password for Redis.',
  }),
  ...LOG_SETTINGS,
} as const

/**
 * A fleet's worth of records stays for long, what is read of it every minute goes at once: the heap need not grow far beyond
 * the former, and pages that became empty need not be kept for later (50 of 230 MiB at 10,000 FleetWorkers).
 */
const HEAP_FLAGS = ['--heap-growing-percent=40', '--optimize-for-size']
/** As kubectl takes it where a context names none. */
const DEFAULT_NAMESPACE = 'default'

export function help(): string {
  return `muster operator: keeps workers as FleetWorker objects of Kubernetes say\n\n  SVC_API_TOKEN_FILE=admin-token muster operator --master-url http://127.0.0.1:8080\n  SVC_API_TOKEN_FILE=team-token muster operator --master-url http://muster-master --watch-namespaces team-a,team-b\n\n${describeSettings(SETTINGS)}\n${HELP_TAIL}`
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, process.env, argv)
  if (
    values.token === undefined &&
    values.bootstrapTokens === undefined &&
    !faults.some(({ name }) => name === 'SVC_API_TOKEN')
  ) {
    faults.push({
      name: 'SVC_API_TOKEN',
      problem: 'is required; set it, or give SVC_API_TOKEN_FILE, or have tokens made by SVC_BOOTSTRAP_TOKENS_SECRET',
    })
  }
  const identity = readIdentity()
  if (!('server' in identity)) refuse([...faults, identity])
  refuse(faults)
  if (!('server' in identity)) return 2
  for (const each of HEAP_FLAGS) setFlagsFromString(each)
  return withProcess(values, async (log, stop) => {
    const token =
      values.token === undefined
        ? undefined
        : watchedSecret('SVC_API_TOKEN', values.token, process.env, systemTime, log)
    const {
      bootstrapRedis: redis,
      bootstrapTokens: tokens,
      watchNamespaces = [],
      metricsListen,
      leaderElect,
      leaseName,
    } = values
    const namespace = identity.namespace ?? DEFAULT_NAMESPACE
    const lease = { name: leaseName, namespace: values.leaseNamespace ?? namespace }
    try {
      const operator = await startOperator({
        masterUrl: values.masterUrl.href,
        token: token?.current,
        bootstrap: { namespace, tokens, redis },
        identity,
        watchNamespaces,
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
      token?.stop()
    }
    return 0
  })
}

/** Reads files and environment alone; nothing is asked of anybody. */
function readIdentity(): KubeIdentity | SettingFault {
  try {
    return defaultIdentity()
  } catch (error) {
    return { name: 'KUBECONFIG', problem: (error as Error).message }
  }
}
