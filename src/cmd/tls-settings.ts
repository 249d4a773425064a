/** @module cmd/tls-settings  The settings of the master's own TLS, and the reading of its certificate and key. */
import { readFile } from 'node:fs/promises'
import { tlsFault, type TlsOptions, type TlsPair } from '../master/index.ts'
import { oneOf, text } from './readers.ts'
import { setting, type SettingFault, type Values } from './settings.ts'

export const TLS = {
  tlsCertFile: setting(text, {
    name: 'SVC_TLS_CERT_FILE',
    help: 'PEM file of the certificate and its intermediates; the master then serves HTTPS. Reread when it changes.',
  }),
  tlsKeyFile: setting(text, {
    name: 'SVC_TLS_KEY_FILE',
    help: 'PEM file of the private key of the certificate.',
  }),
  tlsMinVersion: setting(oneOf('1.2', '1.3'), {
    name: 'SVC_TLS_MIN_VERSION',
    help: 'Lowest version of TLS that the master accepts: 1.2 or 1.3.',
    fallback: '1.2',
  }),
} as const

/** @returns null if no certificate is set. Faults are appended to `faults`. */
export async function readTls(
  { tlsCertFile: certFile, tlsKeyFile: keyFile, tlsMinVersion }: Values<typeof TLS>,
  faults: SettingFault[],
): Promise<TlsOptions | null> {
  if (certFile === undefined && keyFile === undefined) return null
  if (certFile === undefined || keyFile === undefined) {
    const names = ['SVC_TLS_CERT_FILE', 'SVC_TLS_KEY_FILE'] as const
    const [missing, given] = certFile === undefined ? names : ([names[1], names[0]] as const)
    faults.push({ name: missing, problem: `is required with ${given}; set both, or neither` })
    return null
  }
  const reread = async (): Promise<TlsPair> => {
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
    return { cert, key }
  }
  try {
    const pair = await reread()
    const fault = tlsFault(pair)
    if (fault === null) return { pair, minVersion: `TLSv${tlsMinVersion}`, reread }
    faults.push({ name: 'SVC_TLS_CERT_FILE', problem: `cannot be used: ${fault}` })
  } catch (error) {
    const { code = 'unknown error', path } = error as NodeJS.ErrnoException
    const name = path === keyFile ? 'SVC_TLS_KEY_FILE' : 'SVC_TLS_CERT_FILE'
    faults.push({ name, problem: `cannot be read: ${code}` })
  }
  return null
}
