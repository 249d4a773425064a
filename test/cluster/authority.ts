/**
 * Issues the TLS certificate of the fleet's public name, signed by a certificate authority of the test, as files in a
 * temporary folder.
 */
import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const HOST = 'muster.test'
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']

export class Authority {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-cluster-'))
  readonly caFile = join(this.folder, 'ca.pem')
  readonly certFile = join(this.folder, 'tls.pem')
  readonly keyFile = join(this.folder, 'tls.key')
  readonly ca: string

  constructor() {
    this.#openssl('ca', '-subj', '/CN=journey')
    this.ca = readFileSync(this.caFile, 'utf8')
    this.issue()
  }

  /** SHA-256 fingerprint of the current certificate, in Node's format. */
  get fingerprint(): string {
    return this.#certificate.fingerprint256
  }

  /** SHA-256 of the certificate's public key; Chromium can be configured to trust it. */
  get keyHash(): string {
    return createHash('sha256')
      .update(this.#certificate.publicKey.export({ type: 'spki', format: 'der' }))
      .digest('base64')
  }

  get #certificate(): X509Certificate {
    return new X509Certificate(readFileSync(this.certFile))
  }

  /** Writes a new key and a new certificate to the same files. */
  issue(): void {
    this.#openssl(
      'tls',
      '-subj',
      `/CN=${HOST}`,
      '-addext',
      `subjectAltName=DNS:${HOST}`,
      '-addext',
      'basicConstraints=critical,CA:FALSE',
      '-CA',
      this.caFile,
      '-CAkey',
      join(this.folder, 'ca.key'),
    )
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  #openssl(name: string, ...args: readonly string[]): void {
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        ...KEY,
        '-keyout',
        join(this.folder, `${name}.key`),
        '-out',
        join(this.folder, `${name}.pem`),
        ...args,
      ],
      { stdio: 'ignore' },
    )
  }
}
