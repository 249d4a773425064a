/** Runs the operator, in one or two replicas that elect a leader. */
import { startOperator, type RunningOperator } from '../../../src/operator/index.ts'
import type { CreateHttpPool } from '../../../src/runtime/index.ts'
import { MASTER_URL, TOKENS, type Environment, type StartActor } from '../environment.ts'
import type { SimProcess } from '../process.ts'
import { NAMESPACE, type SimApiServer } from './api-server.ts'
import { SimKubeTransport } from './kube-transport.ts'

export const startOperators: StartActor = (environment) => {
  const { api, plan } = environment
  if (api === null) return
  for (let at = 0; at < plan.operators; at += 1) start(environment, api, `operator-${at}`)
}

function start(environment: Environment, api: SimApiServer, name: string): void {
  const { managed, time } = environment
  const process = environment.createProcess(name)
  const replica = `${name}_${process.random.uuid()}`
  let running: RunningOperator | null = null
  const restart = (): void => start(environment, api, name)
  managed.set(name, {
    process,
    restart,
    terminate: (restartMs) => {
      process.run(() => {
        void running?.stop().then(() => {
          process.kill()
          time.after(restartMs, () => managed.get(name)?.process === process && restart())
        })
      })
    },
  })
  environment.note(name, 'starts')
  const starting = startOperator({
    masterUrl: MASTER_URL,
    token: () => TOKENS.admin,
    createTransport: () => transportOf(environment, { process, api, replica }),
    createPool: poolsOf(environment, { process, replica }),
    namespace: NAMESPACE,
    watchNamespaces: [],
    tenants: undefined,
    reservedSecrets: [],
    metricsListen: null,
    leaderElect: true,
    lease: { namespace: NAMESPACE, name: 'muster-operator' },
    replica,
    time: process,
    random: process.random,
    log: environment.logOf(process),
  })
  void starting.then((operator) => (running = operator))
}

interface Replica {
  readonly process: SimProcess
  readonly replica: string
}

function transportOf(
  { checker, network }: Environment,
  { process, api, replica }: Replica & { readonly api: SimApiServer },
): SimKubeTransport {
  return new SimKubeTransport({
    process,
    network,
    api,
    onWrite: ({ method, path }) => checker.operatorWrites({ side: 'api', replica, method, path }),
  })
}

/** HTTP clients whose writes are observed before they are sent. */
function poolsOf(environment: Environment, { process, replica }: Replica): CreateHttpPool {
  const create = environment.poolsOf(process)
  return (origin, options) => {
    const pool = create(origin, options)
    return {
      request: (request) => {
        const { method, path } = request
        if (method !== 'GET') environment.checker.operatorWrites({ side: 'master', replica, method, path })
        return pool.request(request)
      },
      destroy: () => pool.destroy(),
    }
  }
}
