/**
 * Creates certificates for servers on 127.0.0.1: an authority, a valid certificate, and certificates with one fault
 * each. openssl creates them in a folder that `close` removes.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const HAS_OPENSSL = spawnSync('openssl', ['version']).status === 0
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** A certificate and its key, as files and as text. */
export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
  readonly cert: string
  readonly key: string
}

export interface Certificates {
  /** The authority, and another one. */
  readonly ca: Certificate
  readonly otherCa: Certificate
  readonly server: Certificate
  readonly client: Certificate
  readonly expired: Certificate
  /** Of the authority, for other hosts. */
  readonly elsewhere: Certificate
  /** Of the other authority. */
  readonly stranger: Certificate
  close(): void
}

/** @param hosts The names in the certificate `elsewhere`. */
export function makeCertificates(hosts: readonly string[] = ['redis.example']): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'muster-tls-'))
  const fileOf = (name: string): string => join(folder, name)
  const openssl = (...args: readonly string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' })
  const read = (name: string): Certificate => {
    const [certFile, keyFile] = [fileOf(`${name}.pem`), fileOf(`${name}.key`)]
    return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
  }
  const authority = (name: string): Certificate => {
    openssl(
      'req',
      '-x509',
      ...KEY,
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      fileOf(`${name}.key`),
      '-out',
      fileOf(`${name}.pem`),
    )
    return read(name)
  }
  const signed = (name: string, by: Certificate, { san = 'IP:127.0.0.1', days = '2' } = {}): Certificate => {
    openssl(
      'req',
      ...KEY,
      '-subj',
      `/CN=${name}`,
      '-addext',
      `subjectAltName=${san}`,
      '-keyout',
      fileOf(`${name}.key`),
      '-out',
      fileOf(`${name}.csr`),
    )
    openssl(
      'x509',
      '-req',
      '-in',
      fileOf(`${name}.csr`),
      '-CA',
      by.certFile,
      '-CAkey',
      by.keyFile,
      '-CAcreateserial',
      '-days',
      days,
      '-copy_extensions',
      'copy',
      '-out',
      fileOf(`${name}.pem`),
    )
    return read(name)
  }
  const [ca, otherCa] = [authority('ca'), authority('other-ca')]
  return {
    ca,
    otherCa,
    server: signed('server', ca),
    client: signed('client', ca),
    expired: signed('expired', ca, { days: '-1' }),
    elsewhere: signed('elsewhere', ca, { san: hosts.map((host) => `DNS:${host}`).join() }),
    stranger: signed('stranger', otherCa),
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
