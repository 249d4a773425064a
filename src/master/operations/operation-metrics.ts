/**
 * @module master/operations/operation-metrics
 * The metrics of operations. The gauges are exported by the leader alone, which carries operations out. Every master
 * counts what it has stored, so the counters of several masters add up.
 */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../runtime/index.ts'
import { hasEnded, type Operation } from './operation-store.ts'
import type { Item } from './stored.ts'

interface MetricsDeps {
  readonly clock: Pick<Clock, 'wallMs'>
  readonly isLeader: () => boolean
}

export class OperationMetrics {
  readonly #items: Counter<'automation_type' | 'kind' | 'result'>
  #running: readonly Operation[] = []

  constructor(metrics: Registry, { clock, isLeader }: MetricsDeps) {
    const registers = [metrics]
    const running = (): readonly Operation[] => (isLeader() ? this.#running : [])
    this.#items = new Counter({
      name: 'svc_operation_items_total',
      help: 'Workers and dead tasks that operations finished, by result.',
      labelNames: ['automation_type', 'kind', 'result'],
      registers,
    })
    void new Gauge({
      name: 'svc_operations_running',
      help: 'Operations that run, at the leader.',
      labelNames: ['automation_type', 'kind'],
      registers,
      collect() {
        this.reset()
        for (const { type, head } of running()) this.inc({ automation_type: type, kind: head.kind })
      },
    })
    void new Gauge({
      name: 'svc_operation_oldest_seconds',
      help: 'Age of the oldest operation that runs, at the leader.',
      labelNames: ['automation_type'],
      registers,
      collect() {
        this.reset()
        // The list begins with the newest, so the oldest operation of a type is set last.
        for (const { type, head } of running())
          this.set({ automation_type: type }, Math.max(0, clock.wallMs() - head.createdMs) / 1_000)
      },
    })
  }

  /** @param operations All operations that are not over, newest first. */
  observe(operations: readonly Operation[]): void {
    this.#running = operations.filter(({ head }) => !hasEnded(head.state))
  }

  /** Counts results that were stored. */
  count({ type, head }: Pick<Operation, 'type' | 'head'>, results: readonly Item['s'][]): void {
    for (const result of results)
      if (result !== 'pending' && result !== 'active')
        this.#items.inc({ automation_type: type, kind: head.kind, result })
  }

  countReplayed({ type }: Pick<Operation, 'type'>, tasks: number): void {
    if (tasks > 0) this.#items.inc({ automation_type: type, kind: 'replay', result: 'done' }, tasks)
  }
}
