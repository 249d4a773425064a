/**
 * @module cmd/backend
 * Defines the settings of the storage backend (D2, D54) and creates the backend that they select. Only this file and
 * automation/testing name a concrete backend.
 */
import { existsSync, readFileSync } from 'node:fs'
import { systemRandom, systemTime, type Log } from '../runtime/index.ts'
import type { Backend, StoreInfo } from '../storage/index.ts'
import { MemoryBackend } from '../storage/memory/index.ts'
import {
  describeUrl,
  parseStoreUrl,
  readRedisInfo,
  REDIS_SCHEMES,
  RedisBackend,
  type StoreUrl,
} from '../storage/redis/index.ts'
import { readSqliteInfo, SqliteBackend } from '../storage/sqlite/index.ts'
import { text } from './readers.ts'
import { setting, type Read, type Values } from './settings.ts'

/** A parsed SVC_BACKEND_URL. `path` is the file of a filedb. */
export type BackendUrl =
  | { readonly scheme: 'memory' }
  | { readonly scheme: 'filedb'; readonly path: string }
  | { readonly scheme: 'kvstore' | 'kvstores'; readonly store: StoreUrl }

const KNOWN_SCHEMES = 'memory, mem, filedb, kvstore, kvstores, kvstore+sentinel, kvstore+cluster'

export const backendUrl: Read<BackendUrl> = (value) => {
  const match = /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?<rest>.*)$/s.exec(value)
  if (match === null)
    throw new Error(`is not a URL; for example filedb://.muster/master.db; known schemes: ${KNOWN_SCHEMES}`)
  const { scheme = '', rest = '' } = match.groups ?? {}
  if (REDIS_SCHEMES.includes(scheme)) {
    const store = parseStoreUrl(value)
    return { scheme: store.tls ? 'kvstores' : 'kvstore', store }
  }
  if (scheme === 'memory' || scheme === 'mem') {
    if (rest !== '') throw new Error(`${scheme}:// must not be followed by anything`)
    return { scheme: 'memory' }
  }
  if (scheme !== 'filedb') throw new Error(`scheme ${JSON.stringify(scheme)} is not known; known: ${KNOWN_SCHEMES}`)
  if (rest === '' || rest.endsWith('/'))
    throw new Error('filedb:// needs the path of a file; for example filedb://.muster/master.db')
  return { scheme: 'filedb', path: rest }
}

/** Rejects a URL with a password as a flag, since every user of the machine can read the flags of a process (D54). */
function withoutPassword(value: string): void {
  if (/^[^/]*:\/\/[^@]*:[^@]*@/s.test(value))
    throw new Error(
      'must not contain a password when passed as a flag; set SVC_BACKEND_PASSWORD or SVC_BACKEND_PASSWORD_FILE',
    )
}

const pem: Read<string> = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(
      `${JSON.stringify(path)} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`,
      { cause: error },
    )
  }
}

export const BACKEND_SETTINGS = {
  backendUrl: setting(backendUrl, {
    name: 'SVC_BACKEND_URL',
    help:
      'Storage backend: filedb://PATH (SQLite), kvstore://HOST:PORT ' +
      '(Redis; kvstores:// uses TLS) or memory:// (state is lost on exit).',
    fallback: 'filedb://.muster/master.db',
    fromFile: true,
    checkFlag: withoutPassword,
  }),
  backendPassword: setting(text, { name: 'SVC_BACKEND_PASSWORD', help: 'Redis password.', secret: true }),
  backendSentinelPassword: setting(text, {
    name: 'SVC_BACKEND_SENTINEL_PASSWORD',
    help: 'Password of the Redis Sentinels, if they require one.',
    secret: true,
  }),
  backendCaFile: setting(pem, {
    name: 'SVC_BACKEND_CA_FILE',
    help: 'PEM file of the CA certificates that verify the Redis certificate, in place of the system CAs.',
  }),
  backendCertFile: setting(pem, {
    name: 'SVC_BACKEND_CERT_FILE',
    help: 'PEM file of the client certificate for Redis.',
  }),
  backendKeyFile: setting(pem, {
    name: 'SVC_BACKEND_KEY_FILE',
    help: 'PEM file of the private key of the client certificate.',
  }),
} as const

/** Credentials of a backend, which are not part of its URL. */
export interface BackendAccess {
  /** Called for every new connection, so that the next connection uses a rotated password (D22). */
  readonly password: () => string | undefined
  readonly sentinelPassword: () => string | undefined
  readonly tls: {
    readonly ca?: string | undefined
    readonly cert?: string | undefined
    readonly key?: string | undefined
  }
}

export const accessOf = (
  { backendCaFile: ca, backendCertFile: cert, backendKeyFile: key }: Values<typeof BACKEND_SETTINGS>,
  passwords: Pick<BackendAccess, 'password' | 'sentinelPassword'>,
): BackendAccess => ({ ...passwords, tls: { ca, cert, key } })

/** Creates the selected backend with the system's clock, sockets and disk. The caller opens it. */
export function createBackend(url: BackendUrl, log: Log, access?: BackendAccess): Backend {
  switch (url.scheme) {
    case 'memory':
      return new MemoryBackend({ clock: systemTime, random: systemRandom })
    case 'filedb':
      return new SqliteBackend({
        path: url.path,
        clock: systemTime,
        timers: systemTime,
        random: systemRandom,
        log,
        threadUrl: fileBeside('../storage/sqlite/thread', 'js', 'ts'),
      })
    case 'kvstore':
    case 'kvstores':
      return new RedisBackend({ url: url.store, time: systemTime, random: systemRandom, log, ...access })
  }
}

/** Reads what a store says about itself. Creates and migrates nothing. @throws {FleetError} as the backend's `open`. */
export async function readStoreInfo(
  url: Exclude<BackendUrl, { scheme: 'memory' }>,
  access: BackendAccess,
): Promise<StoreInfo> {
  if (url.scheme === 'filedb') return readSqliteInfo(url.path)
  return readRedisInfo({ url: url.store, time: systemTime, random: systemRandom, ...access })
}

/** @returns the URL without user and password. */
export const describeBackend = (url: Exclude<BackendUrl, { scheme: 'memory' }>): string =>
  url.scheme === 'filedb' ? `filedb://${url.path}` : describeUrl(url.store)

/**
 * Resolves a file of this package relative to this module, for built code (.js) and a checkout run from source (.ts).
 */
function fileBeside(path: string, ...extensions: readonly string[]): URL {
  const candidates = extensions.map((extension) => new URL(`${path}.${extension}`, import.meta.url))
  return candidates.find((url) => existsSync(url)) ?? (candidates[0] as URL)
}
