/**
 * A release of the chart whose workers are scaled, and its API: submits tasks, and collects what their runs put out.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'
import { eventually } from '../../kit/index.ts'
import { Namespace } from '../cluster.ts'

const CHART = 'charts/muster'
const RELEASE = 'muster'
export const TYPE = 'timed'
export const SELECTOR = 'app.kubernetes.io/component=worker'
export const WORKLOAD = `${RELEASE}-${TYPE}`
const POP = 1_000

/** The begin or the end of one run of a task. A run that is interrupted has no end. */
export interface RunEvent {
  readonly task_id: string
  readonly attempt: number
  readonly began_ms: number
  readonly worker: string
  readonly is_end: boolean
}

export interface TimedTask {
  readonly task_id: string
  readonly payload: { readonly ms: number }
}

interface Totals {
  readonly submitted: number
  readonly acked: number
  readonly nacked: number
  readonly died: number
}

interface Revisions {
  readonly revisions: readonly { readonly counters?: Readonly<Record<string, number>> }[]
}

export class Release {
  readonly place: Namespace
  #url = ''
  #token = ''
  #values: readonly string[] = []

  constructor(namespace: string) {
    this.place = new Namespace(namespace)
  }

  /** Installs the chart, then the sets: Helm cannot create a kind and its objects together. */
  async install(values: readonly string[]): Promise<void> {
    this.#values = values
    await this.place.kubectl('create', 'namespace', this.place.name)
    await this.#helm('install', ['--set=fleetSets.enabled=false'])
    await this.#helm('upgrade', [])
    const token = await this.place.kubectl('get', 'secret', 'muster-tokens', '--output=jsonpath={.data.admin-token}')
    this.#token = Buffer.from(token, 'base64').toString('utf8')
    this.#url = `http://${await this.place.address('muster-master')}`
    await eventually('the master responds', async () =>
      this.ok('GET', '/me').then(
        () => true,
        () => false,
      ),
    )
  }

  /** Changes values of the release. */
  upgrade(values: readonly string[]): Promise<void> {
    return this.#helm('upgrade', values)
  }

  /** The set stops scaling, as charts/muster/README.md says: without its workload it may not have a number. */
  async stopScaling(): Promise<void> {
    const patch = '{"spec": {"workload": null, "replicas": null}}'
    await this.place.kubectl('patch', 'fleetworkerset', WORKLOAD, '--type=merge', `--patch=${patch}`)
  }

  async #helm(verb: string, more: readonly string[]): Promise<void> {
    await this.place.helm(verb, RELEASE, CHART, ...this.#values, ...more, '--wait', '--timeout=120s')
  }

  async remove(crds: readonly string[]): Promise<void> {
    await this.place.kubectl('delete', 'namespace', this.place.name, '--ignore-not-found', '--timeout=150s')
    await this.place.kubectl('delete', 'customresourcedefinition', ...crds, '--ignore-not-found')
  }

  get url(): string {
    return this.#url
  }

  async ok<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.#url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.#url}/metrics`)).text()
  }

  async submit(tasks: readonly TimedTask[]): Promise<void> {
    const { results } = await this.ok<{ results: readonly object[] }>('POST', `/automations/${TYPE}/tasks/batch`, {
      tasks,
    })
    const failed = results.find((result) => 'error' in result)
    if (failed !== undefined) throw new Error(`a task was refused: ${JSON.stringify(failed)}`)
  }

  /** Collects what runs put out, until as many as expected have ended. */
  async runs(count: number, withinMs: number): Promise<readonly RunEvent[]> {
    const found: RunEvent[] = []
    const deadlineMs = Date.now() + withinMs
    for (;;) {
      found.push(...(await this.#pop()))
      const ended = found.filter((run) => run.is_end).length
      if (ended >= count) break
      if (Date.now() > deadlineMs) throw new Error(`${ended} of ${count} tasks ended within ${withinMs} ms`)
      await pause(500)
    }
    return found
  }

  /** Runs that were put out and not collected yet. */
  async #pop(): Promise<readonly RunEvent[]> {
    const entries = await this.ok<readonly { payload: RunEvent }[]>('POST', `/automations/${TYPE}/output/pop`, {
      n: POP,
    })
    return entries.map(({ payload }) => payload)
  }

  leftOver(): Promise<readonly RunEvent[]> {
    return this.#pop()
  }

  /** Tasks that the worker of a pod holds, as the master knows; 0 if it is not registered. */
  async heldBy(pod: string): Promise<number> {
    const worker = await this.ok<{ tasks_held?: number | null }>('GET', `/automations/${TYPE}/workers/${pod}`).catch(
      () => ({ tasks_held: 0 }),
    )
    return worker.tasks_held ?? 0
  }

  /** Runs that workers gave back before they ended. */
  async released(): Promise<number> {
    const { revisions } = await this.ok<Revisions>('GET', `/automations/${TYPE}/revisions`)
    return revisions.reduce((sum, { counters }) => sum + (counters?.['runs_released'] ?? 0), 0)
  }

  /** Totals of the store, as of the last sample. */
  async totals(): Promise<Totals> {
    const [totals] = await this.ok<readonly Totals[]>('GET', `/automations/${TYPE}/queue/stats?limit=1`)
    return totals ?? { submitted: 0, acked: 0, nacked: 0, died: 0 }
  }

  /** Leases that expired. */
  async lostLeases(): Promise<number> {
    const lines = [...(await this.metrics()).matchAll(/^svc_leases_lost_total\{[^}]*\} (\d+)$/gm)]
    return lines.reduce((sum, [, count]) => sum + Number(count), 0)
  }

  async dead(): Promise<number> {
    return (await this.ok<{ length: number }>('GET', `/automations/${TYPE}/dead?n=1`)).length
  }

  /** `spec.replicas` of the StatefulSet of the workers. */
  async replicas(): Promise<number> {
    return Number(await this.place.kubectl('get', 'statefulset', WORKLOAD, '--output=jsonpath={.spec.replicas}'))
  }
}

/** Helm options of a file of values, with the automation of this test. */
export function valuesOf(file: string): readonly string[] {
  parse(readFileSync(file, 'utf8')) // A syntax error is reported by name.
  return [`--values=${file}`, `--set-file=automations.inline.timed\\.mjs=test/cluster/automations/timed.mjs`]
}
