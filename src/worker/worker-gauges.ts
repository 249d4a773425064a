/** @module worker/worker-gauges  Defines the gauges that a worker exports at `/metrics` of its health listener. */
import type { HealthDeps } from './health.ts'

/** The components of a worker that the gauges read. */
interface GaugeSources {
  readonly channel: { readonly isOpen: boolean }
  readonly drain: { readonly hasBegun: boolean }
  readonly config: { readonly appliedGen: number }
  readonly slots: { readonly size: number }
  readonly records: { readonly failing: number }
  readonly leases: { readonly size: number }
  readonly outbox: { readonly frames: number; readonly outputsEvicted: number }
  readonly stats: { readonly cpuPercent: number; readonly rssMegabytes: number }
}

/** @returns the gauges by name, without the prefix `svc_worker_process_`. Each is read at every scrape. */
export function workerGauges(sources: GaugeSources): HealthDeps['gauges'] {
  const { channel, config, drain, leases, outbox, records, slots, stats } = sources
  const gauge = (help: string, read: () => number): { help: string; read: () => number } => ({ help, read })
  return {
    connected: gauge('1 while the control channel is open.', () => Number(channel.isOpen)),
    draining: gauge('1 while the worker drains.', () => Number(drain.hasBegun)),
    config_gen: gauge('Generation of the applied config.', () => config.appliedGen),
    slots: gauge('Running slots.', () => slots.size),
    slots_failing: gauge('Slots whose last run failed.', () => records.failing),
    leases: gauge('Leased tasks.', () => leases.size),
    frames_waiting: gauge('Output frames that wait for the master.', () => outbox.frames),
    outputs_evicted: gauge('Outputs dropped since the start because the buffer was full.', () => outbox.outputsEvicted),
    cpu_pct: gauge('CPU usage of this process, in percent of one core.', () => stats.cpuPercent),
    rss_mb: gauge('Resident memory in MB.', () => stats.rssMegabytes),
  }
}
