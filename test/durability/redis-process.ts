/**
 * Starts one redis-server on a given data folder, for processes outside of the test runner and for the recovery after
 * a crash. `../kit/redis-server.ts` is for tests whose server has a folder of its own.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { freePort } from '../kit/free-port.ts'

const HOST = '127.0.0.1'
const PORTS_TRIED = 5
/** What a server logs that does not start because its append-only file is damaged. */
const DAMAGE = /Bad file format reading the append only file|Unknown command '[^]*' reading the append only file/
/** Both programs say this of a damage in front of the last file, which neither of them repairs. */
const NOT_LAST_FILE = /not the last file/

export type Fsync = 'always' | 'everysec'

export class RedisProcess {
  readonly port: number
  readonly #child: ChildProcess
  readonly #client: Redis
  readonly #onExit = (): void => void this.#child.kill('SIGKILL')

  private constructor(child: ChildProcess, port: number) {
    this.port = port
    this.#child = child
    this.#client = new Redis({ host: HOST, port, lazyConnect: true, maxRetriesPerRequest: 0 })
    this.#client.on('error', () => undefined) // A command reports its own error.
    process.once('exit', this.#onExit)
  }

  /**
   * Starts a server with an append-only file, and waits until it accepts commands.
   *
   * @param settings more of `redis.conf`, as arguments.
   * @param samePort that of an earlier process; default: a free one.
   * @throws with its log, if the server ends at its start.
   */
  static async start(
    folder: string,
    appendfsync: Fsync,
    settings: readonly string[] = [],
    samePort?: number,
  ): Promise<RedisProcess> {
    const given = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', appendfsync, ...settings]
    for (let tried = 1; ; tried += 1) {
      const port = samePort ?? (await freePort())
      const args = ['--bind', HOST, '--port', `${port}`, '--save', '', '--maxmemory-policy', 'noeviction', ...given]
      const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] })
      const log: string[] = []
      for await (const line of createInterface({ input: child.stdout })) {
        log.push(line)
        if (!line.includes('Ready to accept connections')) continue
        child.stdout.resume()
        return new RedisProcess(child, port)
      }
      const text = log.join('\n')
      if (tried === PORTS_TRIED || !text.includes('Address already in use'))
        throw new Error(`redis-server ended at its start:\n${text}`)
    }
  }

  get url(): string {
    return `kvstore://${HOST}:${this.port}`
  }

  /** Whether the process has ended. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  command(name: string, ...args: readonly string[]): Promise<unknown> {
    return this.#client.call(name, ...args)
  }

  /** Ends the process with this signal: SIGTERM stops it in order. Repeatable. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    process.off('exit', this.#onExit)
    this.#client.disconnect()
    if (this.hasEnded) return
    const ended = once(this.#child, 'exit')
    this.#child.kill(signal)
    await ended
  }
}

/** Why a server did not start: its last file is damaged, one in front of it, or something else. */
export function damageOf(error: unknown): 'in_last_file' | 'before_last_file' | undefined {
  const text = String(error)
  if (NOT_LAST_FILE.test(text)) return 'before_last_file'
  return DAMAGE.test(text) ? 'in_last_file' : undefined
}

/** What redis-check-aof did with the append-only files of a folder. */
export type Repair =
  | { readonly kind: 'intact' }
  /** It cut the last file at its damage, or in front of a transaction without its end. */
  | { readonly kind: 'shortened' }
  /** A file in front of the last one is damaged, which it does not repair. */
  | { readonly kind: 'before_last_file' }
  | { readonly kind: 'failed'; readonly output: string }

/** Runs `redis-check-aof --fix`, as the storage page advises after a power failure. */
export function repairAppendOnlyFile(folder: string): Repair {
  const files = join(folder, 'appendonlydir')
  const names = existsSync(files) ? readdirSync(files) : []
  const manifest = names.find((name) => name.endsWith('.manifest'))
  if (manifest === undefined) return { kind: 'intact' } // The server never started.
  const bytes = (): number => names.reduce((sum, name) => sum + statSync(join(files, name)).size, 0)
  const before = bytes()
  const args = ['--fix', join(files, manifest)]
  const { status, stdout, stderr } = spawnSync('redis-check-aof', args, { input: 'y\n', encoding: 'utf8' })
  if (status === 0) return { kind: bytes() < before ? 'shortened' : 'intact' }
  const output = `${stdout}${stderr}`
  return NOT_LAST_FILE.test(output) ? { kind: 'before_last_file' } : { kind: 'failed', output }
}

/**
 * Makes the folder of the server, and its name durable. Redis makes `appendonlydir` itself and never syncs the folder
 * above: it relies on a file system that keeps the name of a folder in which a file was synced. The model of the disk
 * is none, so this folder is made for it.
 */
export function prepareDataFolder(root: string): string {
  const folder = join(root, 'data')
  if (existsSync(folder)) return folder
  const isModel = process.env['CRASHLOG_ROOT'] !== undefined
  mkdirSync(isModel ? join(folder, 'appendonlydir') : folder, { recursive: true })
  const drop = process.env['CRASHLOG_DROP']
  delete process.env['CRASHLOG_DROP'] // It is for the server.
  for (const each of [root, folder]) {
    const handle = openSync(each, 'r')
    fsyncSync(handle)
    closeSync(handle)
  }
  if (drop !== undefined) process.env['CRASHLOG_DROP'] = drop
  return folder
}
