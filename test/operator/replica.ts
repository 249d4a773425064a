/** One of several operators of a cluster of `cluster.ts`: whether it leads, and what it has written. */
import { Buffer } from 'node:buffer'
import type { Proc } from '../e2e/fleet.ts'
import type { AuditEvent } from './real-apiserver.ts'

interface Audited {
  /** The requests that the API server has received since that time. */
  audit(sinceMs: number): readonly AuditEvent[]
}

/** Options of an operator replica. */
export interface ReplicaOptions {
  /** A proxy in front of the API server. */
  readonly server?: string
  /** Namespace of its ServiceAccount muster-operator, and of its Lease. */
  readonly namespace?: string
  readonly settings?: Readonly<Record<string, string>>
}

/** One of several operators. It has its own token, so that the audit log can attribute its requests. */
export class Replica {
  readonly proc: Proc
  readonly #cluster: Audited
  readonly #credential: string
  readonly #port: number

  constructor(cluster: Audited, proc: Proc, port: number, token: string) {
    this.#cluster = cluster
    this.proc = proc
    this.#port = port
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as { jti: string }
    this.#credential = `JTI=${jti}`
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#port}/metrics`)).text()
  }

  async probe(path: string): Promise<number> {
    return (await fetch(`http://127.0.0.1:${this.#port}${path}`)).status
  }

  async leads(): Promise<boolean> {
    return /^leader_election_master_status\{[^}]*\} 1$/m.test(await this.metrics().catch(() => ''))
  }

  /** Its writes since that time, without those of the Lease. */
  writes(sinceMs: number): readonly string[] {
    const isWrite = ({ objectRef, verb }: AuditEvent): boolean =>
      !['get', 'list', 'watch'].includes(verb) && objectRef?.resource !== 'leases'
    const isOurs = ({ user }: AuditEvent): boolean =>
      user.extra?.['authentication.kubernetes.io/credential-id']?.includes(this.#credential) === true
    return this.#cluster
      .audit(sinceMs)
      .filter((event) => isOurs(event) && isWrite(event))
      .map(({ verb, requestURI }) => `${verb} ${requestURI}`)
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.proc.child.kill(signal)
    return this.proc.exited
  }
}
