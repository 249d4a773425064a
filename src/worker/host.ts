/**
 * @module worker/host
 * Describes the machine and the process. An interface, so that tests and simulated fleets can replace it.
 */
import { availableParallelism, hostname, release, totalmem, type as systemName } from 'node:os'
import type { Static } from 'typebox'
import type { Hardware } from '../protocol/index.ts'

const BYTES_PER_GB = 1024 ** 3

export interface Host {
  /** The hardware fields of `register`. */
  hardware(): Static<typeof Hardware>
  /** CPU time of this process since its start, user and system, in milliseconds. */
  cpuMs(): number
  /** Resident memory in bytes. */
  rssBytes(): number
}

/** The machine this process runs on. */
export const systemHost: Host = {
  hardware: () => ({
    cores: availableParallelism(),
    ram_gb: Math.round((totalmem() / BYTES_PER_GB) * 10) / 10,
    hostname: hostname(),
    kernel: `${systemName()} ${release()}`,
  }),
  cpuMs: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  rssBytes: () => process.memoryUsage.rss(),
}
