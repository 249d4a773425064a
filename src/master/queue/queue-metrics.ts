/** @module master/queue/queue-metrics  The metrics of the task queues. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { TypeQueue } from './type-queue.ts'

export class QueueMetrics {
  readonly expired: Counter
  readonly refused: Counter
  readonly refusedReserves: Counter
  readonly lost: Counter

  constructor(metrics: Registry, queues: () => Iterable<TypeQueue>) {
    const registers = [metrics]
    this.expired = new Counter({
      name: 'svc_tasks_expired_total',
      help: 'Tasks dropped at reserve, older than their ttl_seconds.',
      labelNames: ['automation_type'],
      registers,
    })
    this.refused = new Counter({
      name: 'svc_submits_refused_total',
      help: 'Tasks and batches that were not queued.',
      labelNames: ['automation_type', 'reason'],
      registers,
    })
    this.refusedReserves = new Counter({
      name: 'svc_reserves_refused_total',
      help: 'Reserves that were rejected or ended early because too many were waiting.',
      labelNames: ['automation_type', 'reason'],
      registers,
    })
    this.lost = new Counter({
      name: 'svc_leases_lost_total',
      help: 'Leases that expired, by what happened to their task.',
      labelNames: ['automation_type', 'outcome'],
      registers,
    })
    void new Gauge({
      name: 'svc_reserve_waiters',
      help: 'Reserves that wait for a task on this master.',
      labelNames: ['automation_type'],
      registers,
      collect() {
        for (const { entry, waiting } of queues()) this.set({ automation_type: entry.type }, waiting)
      },
    })
  }
}
