/** @module master/auth/jwt/read-url  Calls an issuer, within limits that a hostile one cannot exceed. */
import { readFile } from 'node:fs/promises'
import type { KeyReader } from './key-set.ts'

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_048_576

/**
 * @returns the body of a response with status 200.
 * @throws {Error} for a redirect, another status, more than 1 MiB, and after 5 s.
 */
export async function readUrl(url: string, timeoutMs = TIMEOUT_MS): Promise<string> {
  const response = await fetch(url, {
    redirect: 'error',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await textOf(url, response)
  if (response.status !== 200) throw new Error(`${url} responded with status ${response.status}`)
  return text
}

/** Reads keys from disk and the network. */
export const KEY_READER: KeyReader = { file: (path) => readFile(path, 'utf8'), url: readUrl }

export interface FormResponse {
  readonly status: number
  readonly text: string
}

/**
 * Posts a form, as a token endpoint expects it.
 *
 * @returns a response of any status that is no redirect.
 * @throws {Error} for a redirect, more than 1 MiB, and after 5 s. Whether the form had an effect is then unknown.
 */
export async function postForm(
  url: string,
  form: URLSearchParams,
  headers: Readonly<Record<string, string>> = {},
  timeoutMs = TIMEOUT_MS,
): Promise<FormResponse> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { accept: 'application/json', ...headers },
    body: form,
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await textOf(url, response)
  if (response.status >= 300 && response.status < 400) throw new Error(`${url} redirects, which is not followed`)
  return { status: response.status, text }
}

async function textOf(url: string, response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`${url} sent more than ${MAX_BYTES} bytes`)
  }
  return Buffer.concat(chunks).toString('utf8')
}
