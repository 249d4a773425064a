/** Cuts the power of a Redis server: it is killed, and its append-only file ends where it ended a moment before. */
import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { systemTime, type Random } from '../../src/runtime/index.ts'
import { repairAppendOnlyFile } from '../durability/redis-process.ts'
import type { RedisServer } from '../kit/redis-server.ts'

const SAMPLE_MS = 25
/** Under `everysec` Redis syncs the file each second. */
const LOST_MS = 1_000

interface Sample {
  readonly atMs: number
  readonly bytes: number
}

/** Follows the size of the file, to know what it may have been on the disk. */
export class PowerCut {
  readonly #server: RedisServer
  readonly #file: string
  readonly #cancel: () => void
  #samples: readonly Sample[] = []

  constructor(server: RedisServer) {
    this.#server = server
    this.#file = join(server.folder, 'appendonlydir', 'appendonly.aof.1.incr.aof')
    this.#cancel = systemTime.every(SAMPLE_MS, () => this.#sample())
  }

  close(): void {
    this.#cancel()
  }

  /**
   * Kills the server. The file loses what was written in up to a second, and may end within a transaction. Redis then
   * keeps the complete commands of this transaction in the file and executes them at its start after the next one.
   * `redis-check-aof` removes them; the storage page advises it.
   */
  async cut(random: Random): Promise<void> {
    this.#sample()
    await this.#server.kill()
    const { size } = statSync(this.#file)
    const first = this.#samples[0]?.bytes ?? size
    const kept = first + Math.floor(random.unit() * (size - first))
    truncateSync(this.#file, kept)
    const { kind } = repairAppendOnlyFile(this.#server.folder)
    if (kind === 'failed' || kind === 'before_last_file') throw new Error('redis-check-aof cannot repair the file')
    this.#samples = []
  }

  #sample(): void {
    const nowMs = performance.now()
    const sample = { atMs: nowMs, bytes: statSync(this.#file).size }
    this.#samples = [...this.#samples.filter(({ atMs }) => atMs > nowMs - LOST_MS), sample]
  }
}
