/**
 * Starts the stores of the subjects, in temporary folders: a redis-server on a free loopback port, and one PostgreSQL
 * for the run, with a socket in its own folder and one database per measurement. `endStores` stops what a subject left
 * running.
 */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { freePort, start, until } from './processes.mjs'
import { Unavailable } from './run.mjs'

const running = new Set()

/** Stops everything that was started here and not stopped, for example after a failure. */
export async function endStores() {
  for (const stop of running) await stop()
}

/** @param options.appendfsync uses an append-only file with this fsync setting; otherwise nothing is written. */
export async function startRedis(directory, { appendfsync } = {}) {
  const folder = mkdtempSync(join(directory, 'redis-'))
  const port = await freePort()
  const persistence =
    appendfsync === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', appendfsync]
  const server = start('redis-server', [
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    '--save',
    '',
    '--maxmemory-policy',
    'noeviction',
    ...persistence,
  ])
  const stop = async () => {
    running.delete(stop)
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  running.add(stop)
  await until('Redis is ready', () => isReady(port))
  return { ...server, stop, port }
}

/** Sends a command without reconnecting. The wait ends with the first reply. */
async function isReady(port) {
  const client = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false // Not listening yet.
  } finally {
    client.disconnect()
  }
}

/** Commands of the measurement itself, and calls that run scripts. All other commands are counted as inner calls. */
const UNCOUNTED = new Set([
  'info',
  'eval',
  'evalsha',
  'fcall',
  'script|load',
  'hello',
  'auth',
  'select',
  'client|setinfo',
  'client|setname',
  'config|get',
])

async function readCosts(port) {
  const client = new Redis({ host: '127.0.0.1', port })
  try {
    const text = await client.info('everything')
    const field = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1] ?? 0)
    const calls = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].filter(([, name]) => !UNCOUNTED.has(name))
    return {
      cpuUs: (field('used_cpu_user') + field('used_cpu_sys')) * 1e6,
      calls: calls.reduce((sum, [, , count]) => sum + Number(count), 0),
      aofBytes: field('aof_current_size'),
    }
  } finally {
    client.disconnect()
  }
}

/** Starts counting the costs of a Redis. The returned function calculates them for a number of items. */
export async function redisCosts(port) {
  const before = await readCosts(port)
  return async (items) => {
    const after = await readCosts(port)
    return {
      redisCpuUs: (after.cpuUs - before.cpuUs) / items,
      innerCalls: (after.calls - before.calls) / items,
      aofBytes: (after.aofBytes - before.aofBytes) / items,
    }
  }
}

/** Debian does not add the server's programs to PATH. */
const DEBIAN = '/usr/lib/postgresql'
function programOf(name) {
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...(existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin')) : []),
  ]
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

export const postgresVersion = () => {
  const program = programOf('postgres')
  return program === undefined
    ? undefined
    : /\d+\.\d+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0]
}

/** User and group of unprivileged processes on Linux. */
const UNPRIVILEGED_ID = 65_534
/** PostgreSQL refuses to run as root, so it runs as an unprivileged user. */
const asUnprivileged =
  process.getuid?.() === 0
    ? ['setpriv', `--reuid=${UNPRIVILEGED_ID}`, `--regid=${UNPRIVILEGED_ID}`, '--clear-groups']
    : []

/**
 * Commits do not wait for the disk (`synchronous_commit=off`): a power failure loses about half a second, which is
 * between a Redis without append-only file and one with `everysec`.
 */
const POSTGRES_SETTINGS = [
  'synchronous_commit=off',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  'listen_addresses=',
  'log_min_messages=panic',
]

let cluster
async function startCluster() {
  const [initdb, postgres] = [programOf('initdb'), programOf('postgres')]
  if (initdb === undefined || postgres === undefined) throw new Unavailable('PostgreSQL is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'muster-pg-')) // Not in the run's folder, which other users cannot enter.
  if (asUnprivileged.length > 0) chownSync(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  const [program, ...args] = [
    ...asUnprivileged,
    initdb,
    '-D',
    join(folder, 'data'),
    '-U',
    'bench',
    '--auth=trust',
    '--encoding=UTF8',
    '--no-locale',
  ]
  try {
    execFileSync(program, args, { stdio: 'pipe' })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Unavailable(`PostgreSQL is not available: ${error.message.trim()}`, { cause: error })
  }
  const [server, ...options] = [
    ...asUnprivileged,
    postgres,
    '-D',
    join(folder, 'data'),
    '-k',
    folder,
    ...POSTGRES_SETTINGS.flatMap((setting) => ['-c', setting]),
  ]
  const child = start(server, options)
  const stop = async () => {
    running.delete(stop)
    child.child.kill('SIGINT') // Stops immediately, without waiting for clients.
    await child.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  running.add(stop)
  await until('PostgreSQL is ready', () =>
    query({ host: folder, user: 'bench', database: 'postgres' }, 'SELECT 1').then(
      () => true,
      () => false,
    ),
  )
  return folder
}

async function query(address, text) {
  const client = new pg.Client(address)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

let databases = 0
/** Creates an empty database. The first call starts the server. @throws {Unavailable} without PostgreSQL. */
export async function startPostgres() {
  cluster ??= startCluster()
  const admin = { host: await cluster, user: 'bench', database: 'postgres' }
  const address = { ...admin, database: `bench${(databases += 1)}` }
  await query(admin, `CREATE DATABASE ${address.database}`)
  return {
    address,
    query: (text) => query(address, text),
    stop: () => query(admin, `DROP DATABASE ${address.database} WITH (FORCE)`),
  }
}
