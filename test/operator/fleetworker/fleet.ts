/**
 * The reconciler's view of the master, over a real master and real HTTP, but without background activity: the table
 * shows the result of the last `read`, and each call can be made to fail or to be overtaken by another action.
 */
import { secretPathsOf, type JsonObject, type JsonSchema, type WorkerBody } from '../../../src/protocol/index.ts'
import type {
  CatalogType,
  FleetTable,
  MasterWriter,
  CallResult,
  CallRefusal,
  Registered,
  Remembered,
  Seen,
  WorkerRef,
} from '../../../src/operator/fleet/index.ts'
import type { TestMaster } from '../../kit/running-master.ts'

export type CallName = keyof MasterWriter
/** What happens to a call: a rejection instead of it, or its response is lost after or before it took effect. */
export type Fate = CallRefusal | 'lose' | 'hold' | void
interface MasterCall {
  readonly name: CallName
  readonly workerId: string
  readonly body: unknown
}

const LOST: CallRefusal = { kind: 'unavailable', effect: 'unknown', message: 'no answer' }

export class TestFleet implements FleetTable, MasterWriter {
  readonly calls: MasterCall[] = []
  readonly isSynced = true
  readonly #master: TestMaster
  readonly #nowMs: () => number
  readonly #records = new Map<string, Registered>()
  readonly #types = new Map<string, CatalogType>()
  readonly #fates: { readonly name: CallName; readonly fate: () => Promise<Fate> | Fate }[] = []
  /** Calls that were sent and have not arrived. */
  readonly held: (() => Promise<unknown>)[] = []
  unavailableMs = 0
  isPending = false
  /** Replaces the real epoch. */
  epoch: string | undefined
  forbidden: string | undefined

  constructor(master: TestMaster, nowMs: () => number) {
    this.#master = master
    this.#nowMs = nowMs
  }

  isRegistered(type: string, workerId: string): boolean {
    return this.get(type, workerId).kind === 'registered'
  }

  /** Updates the table. */
  async read(): Promise<void> {
    const { json } = await this.#master.call('GET', '/api/v1/catalog')
    this.#records.clear()
    this.#types.clear()
    for (const [type, { config }] of Object.entries(json as Record<string, { config: JsonSchema }>)) {
      this.#types.set(type, {
        kind: 'ContinuousAutomation',
        schema: config,
        secrets: secretPathsOf(config),
        hash: JSON.stringify(config),
      })
      const page = await this.#master.call('GET', `/api/v1/automations/${type}/workers`)
      for (const record of page.json as WorkerBody[]) this.#take(record, page.headers)
    }
  }

  /** Sets the entry of the table. */
  show(seen: Seen): void {
    if (seen.kind === 'registered') this.#records.set(`${seen.record.automation_type}/${seen.record.worker_id}`, seen)
  }

  alter(workerId: string, more: Partial<WorkerBody>, of: Partial<Registered> = {}): void {
    const seen = this.#seen('job', workerId)
    if (seen.kind === 'registered') this.show({ ...seen, ...of, record: { ...seen.record, ...more } })
  }

  /** Sets the fate of the next call with this name. */
  next(name: CallName, fate: () => Promise<Fate> | Fate): void {
    this.#fates.push({ name, fate })
  }

  count(...names: readonly CallName[]): number {
    return this.calls.filter(({ name }) => names.includes(name)).length
  }

  bodies(name: CallName): readonly unknown[] {
    return this.calls.filter((call) => call.name === name).map(({ body }) => body)
  }

  get(type: string, workerId: string): Seen
  get(worker: WorkerRef, signal: AbortSignal): Promise<CallResult<Registered>>
  get(of: string | WorkerRef, workerId: string | AbortSignal): Seen | Promise<CallResult<Registered>> {
    return typeof of === 'string' ? this.#seen(of, workerId as string) : this.#record('get', of, 'GET', '')
  }

  catalog = (type: string): CatalogType | undefined => this.#types.get(type)
  workers = (type: string): readonly Registered['record'][] =>
    [...this.#records.values()].map(({ record }) => record).filter((each) => each.automation_type === type)
  setTypes = (): void => {}
  onChange = () => (): void => {}
  run = async (): Promise<void> => {}
  masterNowMs = (): number => this.#nowMs()
  hasForgotten = ({ epoch, record }: Registered, remembered: Remembered): boolean =>
    epoch !== remembered.epoch || record.config_gen < remembered.generation

  history: MasterWriter['history'] = (worker, limit) =>
    this.#call('history', worker, 'GET', `/config/history?limit=${limit}`)
  claim: MasterWriter['claim'] = (worker, managedBy) =>
    this.#record('claim', worker, 'PUT', '/claim?force=true', { managed_by: managedBy })
  release: MasterWriter['release'] = (worker) => this.#record('release', worker, 'DELETE', '/claim')
  releaseOrphaned: MasterWriter['releaseOrphaned'] = (worker) =>
    this.#record('release', worker, 'DELETE', '/claim?force=true')
  drain: MasterWriter['drain'] = (worker) => this.#call('drain', worker, 'POST', '/drain')
  forget: MasterWriter['forget'] = async (worker) => {
    const answer = await this.#call<void>('forget', worker, 'DELETE', '')
    if (answer.kind === 'ok') this.#records.delete(`${worker.type}/${worker.workerId}`)
    return answer
  }

  patch: MasterWriter['patch'] = async (worker, patch, { epoch, configGen }, actor) => {
    const answer = await this.#call<{ config: JsonObject; config_gen: number }>(
      'patch',
      worker,
      'PATCH',
      '/config',
      patch,
      { 'if-match': `"${epoch}.${configGen}"`, 'muster-actor': actor },
    )
    const seen = this.#records.get(`${worker.type}/${worker.workerId}`)
    if (answer.kind === 'ok' && seen !== undefined)
      this.#records.set(`${worker.type}/${worker.workerId}`, { ...seen, record: { ...seen.record, ...answer.value } })
    return answer
  }

  #seen(type: string, workerId: string): Seen {
    if (this.forbidden === type) return { kind: 'forbidden' }
    if (this.isPending) return { kind: 'pending' }
    if (!this.#types.has(type)) return { kind: 'unknown_type' }
    return this.#records.get(`${type}/${workerId}`) ?? { kind: 'unregistered' }
  }

  async #record(
    name: CallName,
    worker: WorkerRef,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<CallResult<Registered>> {
    const answer = await this.#call<WorkerBody>(name, worker, method, path, body)
    const seen = this.#records.get(`${worker.type}/${worker.workerId}`)
    return answer.kind !== 'ok'
      ? answer
      : { ...answer, value: seen?.kind === 'registered' ? seen : (undefined as never) }
  }

  async #call<T>(
    name: CallName,
    { type, workerId }: WorkerRef,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<CallResult<T>> {
    this.calls.push({ name, workerId, body })
    const at = this.#fates.findIndex((each) => each.name === name)
    const fate = at === -1 ? undefined : await this.#fates.splice(at, 1)[0]?.fate()
    if (typeof fate === 'object') return fate
    if (this.unavailableMs > 0) return { kind: 'unavailable', effect: 'not_sent', message: 'the master is unavailable' }
    const send = () =>
      this.#master.call(method, `/api/v1/automations/${type}/workers/${encodeURIComponent(workerId)}${path}`, {
        body,
        headers,
      })
    if (fate === 'hold') this.held.push(send)
    if (fate === 'hold') return LOST
    const { status, json, headers: answered } = await send()
    if (fate === 'lose') return LOST
    if (status < 300) {
      if (typeof json === 'object' && json !== null && 'automation_type' in json)
        this.#take(json as WorkerBody, answered)
      return { kind: 'ok', value: json as T, epoch: this.epoch ?? answered.get('muster-epoch') ?? '' }
    }
    if (status === 404) this.#records.delete(`${type}/${workerId}`)
    return refusalOf(status, (json as { detail: string }).detail)
  }

  #take(record: WorkerBody, headers: Headers): void {
    this.#records.set(`${record.automation_type}/${record.worker_id}`, {
      kind: 'registered',
      record,
      epoch: this.epoch ?? headers.get('muster-epoch') ?? '',
      isStale: false,
      readMs: this.#nowMs(),
    })
  }
}

function refusalOf(
  status: number,
  detail: string | readonly { path: string; message: string; keyword: string; params: object }[],
): CallRefusal {
  if (status === 404) return { kind: 'not_registered' }
  if (status === 412) return { kind: 'stale' }
  if (typeof detail !== 'string') return { kind: 'rejected', faults: detail as never, message: 'refused' }
  return { kind: 'bug', message: `HTTP ${status}: ${detail}` }
}
