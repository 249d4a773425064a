/**
 * Simulates a power cut after a failed fsync on SQLite. After a failed fsync, the kernel marks the pages as clean and
 * still returns them to readers. A later successful fsync therefore does not write them (G1).
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { systemTime } from '../../../../src/runtime/index.ts'
import { backendOn } from '../fixture.ts'
import { temporaryFolder } from '../../../kit/temporary-folder.ts'

const WRITER = join(import.meta.dirname, 'writer.ts')
const [WRITE, TRUNCATE, SYNC, FAILED_SYNC, UNLINK] = [1, 2, 3, 4, 5]
const HEAD_BYTES = 32

/** One file on the disk: its durable content, and the writes since the last fsync. */
class DiskFile {
  #room = Buffer.alloc(0)
  #size = 0
  #pending: { readonly offset: number; readonly data: Buffer | null }[] = []

  apply(operation: number, offset: number, data: Buffer): void {
    if (operation === WRITE) this.#pending.push({ offset, data })
    if (operation === TRUNCATE) this.#pending.push({ offset, data: null })
    if (operation === SYNC) this.#sync()
    if (operation === SYNC || operation === FAILED_SYNC) this.#pending = []
    if (operation === UNLINK) this.#resize(0)
  }

  get content(): Buffer {
    return this.#room.subarray(0, this.#size)
  }

  #sync(): void {
    for (const { offset, data } of this.#pending) {
      this.#resize(data === null ? offset : Math.max(this.#size, offset + data.length))
      data?.copy(this.#room, offset)
    }
  }

  #resize(size: number): void {
    if (size > this.#room.length) this.#room = Buffer.concat([this.#room, Buffer.alloc(2 * size - this.#room.length)])
    this.#room.fill(0, Math.min(size, this.#size), Math.max(size, this.#size))
    this.#size = size
  }
}

/** Returns the two files after a power cut at the end of the recording: only synced data. */
function replayed(log: Buffer): readonly [db: Buffer, wal: Buffer] {
  const files = [new DiskFile(), new DiskFile()]
  for (let at = 0; at < log.length;) {
    const number = (n: number): number => Number(log.readBigUInt64LE(at + 8 * n))
    const [operation, file, offset, length] = [number(0), number(1), number(2), number(3)]
    files[file - 1]?.apply(operation, offset, log.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length))
    at += HEAD_BYTES + length
  }
  const [db = new DiskFile(), wal = new DiskFile()] = files
  return [db.content, wal.content]
}

const folder = temporaryFolder()
const SHIM = join(folder, 'record.so')
const BUILT = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', SHIM, join(import.meta.dirname, 'record.c'), '-ldl'])

/** Runs a scenario, cuts the power at its end, and opens the remaining files. */
async function recovered(scenario: string): Promise<Readonly<Record<'acked' | 'found', readonly string[]>>> {
  const [before, after] = [join(folder, scenario), join(folder, `${scenario}-after`)]
  mkdirSync(after)
  const env = { PATH: process.env['PATH'] ?? '', LD_PRELOAD: SHIM, SHIM_LOG: `${before}.log` }
  const args = ['--disable-warning=ExperimentalWarning', WRITER, join(before, 'master.db'), scenario]
  const { stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  expect(stderr).toBe('')
  const [db, wal] = replayed(readFileSync(`${before}.log`))
  const file = join(after, 'master.db')
  writeFileSync(file, db)
  if (wal.length > 0) writeFileSync(`${file}-wal`, wal)
  const mark = join(before, 'master.db-synced') // Worst case: the disk stored the mark immediately.
  expect(existsSync(mark)).toBe(true)
  copyFileSync(mark, `${file}-synced`)
  const backend = backendOn(file, systemTime)
  await backend.open(AbortSignal.timeout(30_000))
  const acked = JSON.parse(stdout) as readonly string[]
  const places = await backend.tasks.locate('render', acked)
  await backend.close()
  return { acked, found: acked.filter((_, i) => places[i] !== null) }
}

describe('a SQLite store after a power cut', () => {
  if (BUILT.status !== 0) {
    it.skip('gcc is not installed', () => undefined)
    return
  }

  it.each([
    ['after the first commit', 'first', ['a']],
    ['when unsynced changes precede the commit', 'behind-unsynced', ['b']],
    ['when unsynced changes follow the commit', 'unsynced-end', ['a']],
    ['when the fsync of a commit had failed', 'failed-commit', ['a', 'c', 'd']],
    ['when the fsync of a checkpoint had failed', 'failed-checkpoint', ['f']],
    ['when the master was restarted after a failed fsync', 'restart-after-failure', ['a', 'g']],
  ])('has every acknowledged task %s (G1)', async (_, scenario, atLeast) => {
    const { acked, found } = await recovered(scenario)
    expect(found).toEqual(acked)
    expect(acked).toEqual(expect.arrayContaining(atLeast))
  })
})
