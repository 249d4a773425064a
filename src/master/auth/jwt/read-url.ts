/** @module master/auth/jwt/read-url  Reads a document of an issuer, within limits that a hostile one cannot exceed. */

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
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`${url} sent more than ${MAX_BYTES} bytes`)
  }
  if (response.status !== 200) throw new Error(`${url} responded with status ${response.status}`)
  return Buffer.concat(chunks).toString('utf8')
}
