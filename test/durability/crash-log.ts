/** Builds the recording library, runs programs under it, and reads the log of their disk operations. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from '@jest/globals'

const SOURCE = join(import.meta.dirname, 'crashlog.c')
const HEAD_NUMBERS = 5
const KINDS = [
  '',
  'mark',
  'create',
  'write',
  'truncate',
  'sync',
  'failed_sync',
  'unlink',
  'rename',
  'mkdir',
  'rmdir',
  'fault',
] as const

/** One recorded operation. Paths are relative to the watched folder, and `''` is the folder itself. */
export interface DiskOperation {
  readonly kind: Exclude<(typeof KINDS)[number], ''>
  readonly path: string
  /** The new path of a rename. */
  readonly other: string
  /** Of a write: where it begins. Of a truncation: the new size. */
  readonly offset: number
  readonly data: Buffer
}

const HAS_GCC = spawnSync('gcc', ['--version']).status === 0

/** Runs `define`, which describes tests. Without gcc it defines a named skip instead. */
export function withGcc(name: string, define: () => void): void {
  if (HAS_GCC) define()
  else describe(name, () => it.skip('gcc is not installed', () => undefined))
}

/** @param library Where the library is written. */
export function buildCrashLog(library: string): void {
  const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl'])
  if (status !== 0) throw new Error(`gcc failed: ${stderr.toString()}`)
}

/** A program to record. */
export interface RecordedRun {
  readonly library: string
  /** The watched folder, without symbolic links. */
  readonly root: string
  /** The file that the operations are appended to. */
  readonly log: string
  readonly args: readonly string[]
  /** More settings of `crashlog.c`. */
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a Node program to its end, which may be SIGKILL, and returns its output. */
export async function runRecorded({ library, root, log, args, env = {} }: RecordedRun): Promise<string> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Operations of io_uring are not calls of a library.
    env: {
      PATH: process.env['PATH'] ?? '',
      UV_USE_IO_URING: '0',
      LD_PRELOAD: library,
      CRASHLOG_ROOT: root,
      CRASHLOG_FILE: log,
      ...env,
    },
  })
  let [output, errors] = ['', '']
  child.stdout.on('data', (data: Buffer) => void (output += data.toString()))
  child.stderr.on('data', (data: Buffer) => void (errors += data.toString()))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  if (errors !== '' || (code !== 0 && signal !== 'SIGKILL'))
    throw new Error(`${args.join(' ')} ended with ${code ?? signal}: ${errors}`)
  return output
}

export function readCrashLog(log: string): readonly DiskOperation[] {
  const bytes = readFileSync(log)
  const operations: DiskOperation[] = []
  for (let at = 0; at < bytes.length;) {
    const [kind = 0, offset = 0, ...lengths] = Array.from({ length: HEAD_NUMBERS }, (_, i) =>
      Number(bytes.readBigUInt64LE(at + 8 * i)),
    )
    at += 8 * HEAD_NUMBERS
    const [path, other, data] = lengths.map((length) => {
      at += length
      return bytes.subarray(at - length, at)
    })
    const name = KINDS[kind]
    if (name === undefined || name === '' || path === undefined || other === undefined || data === undefined)
      throw new Error(`the log is damaged before byte ${at}`)
    const isOfDisk = name === 'mark' || path.toString() !== 'marks'
    if (isOfDisk) operations.push({ kind: name, path: path.toString(), other: other.toString(), offset, data })
  }
  return operations
}
