/** A cluster whose operator reaches the API server and the master through proxies that a test controls. */
import { FaultyProxy } from '../client/faulty-proxy.ts'
import { Cluster } from './cluster.ts'
import { FaultProxy } from './fault-proxy.ts'

export class ProxiedCluster {
  readonly cluster: Cluster
  readonly apiServer: FaultProxy
  readonly master: FaultyProxy
  readonly #server: string

  private constructor(cluster: Cluster, apiServer: FaultProxy, master: FaultyProxy, server: string) {
    this.cluster = cluster
    this.apiServer = apiServer
    this.master = master
    this.#server = server
  }

  static async start(): Promise<ProxiedCluster> {
    const cluster = await Cluster.start('cluster-wide')
    const apiServer = new FaultProxy(cluster.server)
    const server = await apiServer.start()
    const started = new ProxiedCluster(cluster, apiServer, await FaultyProxy.start(cluster.fleet.url), server)
    await started.startOperator()
    return started
  }

  async startOperator(): Promise<void> {
    await this.cluster.startOperator({ server: this.#server, SVC_MASTER_URL: this.master.url })
  }

  /** Both proxies let every call pass. */
  pass(): void {
    this.apiServer.fault = () => undefined
    this.master.rule = () => 'pass'
  }

  async close(): Promise<void> {
    await this.cluster.close()
    await this.apiServer.close()
    await this.master.stop()
  }
}
