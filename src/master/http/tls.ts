/**
 * @module master/http/tls
 * Reads the certificate of the master and its key, and applies changed files while the master runs. Files are compared
 * every 2 s, because file watchers miss changes when Kubernetes replaces a symlinked folder (D22). A pair that cannot
 * be used leaves the previous one in place, and is logged once until it changes: a certificate and a key are two files,
 * so a reader may see one of them before the other.
 * @see D233
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Log, Timers } from '../../runtime/index.ts'

const REREAD_EVERY_MS = 2_000

/** A certificate, followed by those of intermediate authorities, and its private key: both PEM. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

export interface TlsOptions {
  readonly pair: TlsPair
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Reads the files again. @throws {Error} if they cannot be read. */
  readonly reread: () => Promise<TlsPair>
}

/** @returns why a pair cannot be used; null if it can. */
export function tlsFault({ cert, key }: TlsPair): string | null {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch {
    return 'the certificate file contains no PEM certificate'
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(key))) return 'the key is not the key of the certificate'
  } catch {
    return 'the key file contains no PEM private key without a passphrase'
  }
  return null
}

export interface TlsWatchDeps {
  readonly timers: Timers
  readonly log: Log
  readonly tls: TlsOptions
  readonly apply: (pair: TlsPair) => void
}

/** Starts watching. @returns a function that stops it. */
export function watchTls({ timers, log, tls: { pair, reread }, apply }: TlsWatchDeps): () => void {
  let current = pair
  let lastFault: string | null = null
  let isBusy = false
  const check = async (): Promise<void> => {
    const next = await reread().catch((error: unknown) => `the files cannot be read: ${codeOf(error)}`)
    if (typeof next !== 'string' && next.cert === current.cert && next.key === current.key) {
      lastFault = null
      return
    }
    const fault = typeof next === 'string' ? next : tlsFault(next)
    if (fault !== null && fault !== lastFault)
      log.error('the changed certificate cannot be used; the previous one stays', { fault })
    lastFault = fault
    if (fault !== null || typeof next === 'string') return
    apply(next)
    current = next
    log.info('the certificate of the master was replaced', { valid_to: new X509Certificate(next.cert).validTo })
  }
  return timers.every(REREAD_EVERY_MS, () => {
    if (isBusy) return // Reads must not pile up on a slow disk.
    isBusy = true
    check()
      .catch((error: unknown) => log.error('failed to replace the certificate of the master', { error }))
      .finally(() => (isBusy = false))
  })
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown error'
