/**
 * A release of the chart whose workers are scaled, and its API: submits tasks, and collects what their runs put out.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'
import { CHART, Release } from '../release.ts'

export const TYPE = 'timed'
export const SELECTOR = 'app.kubernetes.io/component=worker'
export const WORKLOAD = `muster-${TYPE}`
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

interface Revisions {
  readonly revisions: readonly { readonly counters?: Readonly<Record<string, number>> }[]
}

export class ScaledRelease extends Release {
  #values: readonly string[] = []

  /** Installs the chart, then the sets: Helm cannot create a kind and its objects together. */
  async install(values: readonly string[]): Promise<void> {
    this.#values = values
    await this.place.kubectl('create', 'namespace', this.place.name)
    await this.helm('install', CHART, [...values, '--set=fleetSets.enabled=false'])
    await this.helm('upgrade', CHART, values)
    await this.connect()
  }

  /** Changes values of the release. */
  upgrade(values: readonly string[]): Promise<void> {
    return this.helm('upgrade', CHART, [...this.#values, ...values])
  }

  /** The set stops scaling, as charts/muster/README.md says: without its workload it may not have a number. */
  async stopScaling(): Promise<void> {
    const patch = '{"spec": {"workload": null, "replicas": null}}'
    await this.place.kubectl('patch', 'fleetworkerset', WORKLOAD, '--type=merge', `--patch=${patch}`)
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.url}/metrics`)).text()
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
      found.push(...(await this.leftOver()))
      const ended = found.filter((run) => run.is_end).length
      if (ended >= count) break
      if (Date.now() > deadlineMs) throw new Error(`${ended} of ${count} tasks ended within ${withinMs} ms`)
      await pause(500)
    }
    return found
  }

  /** Runs that were put out and not collected yet. */
  async leftOver(): Promise<readonly RunEvent[]> {
    const path = `/automations/${TYPE}/output/pop`
    const entries = await this.ok<readonly { payload: RunEvent }[]>('POST', path, { n: POP })
    return entries.map(({ payload }) => payload)
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

  /** Leases that expired. */
  async lostLeases(): Promise<number> {
    const lines = [...(await this.metrics()).matchAll(/^svc_leases_lost_total\{[^}]*\} (\d+)$/gm)]
    return lines.reduce((sum, [, count]) => sum + Number(count), 0)
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
