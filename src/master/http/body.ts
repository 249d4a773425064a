/**
 * @module master/http/body
 * Reads the body of a request: content type, then declared length, then the bytes under their limit, then UTF-8, then
 * JSON. The caller has accepted the sender by then; until the first line below runs, no byte was asked for.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FleetError } from '../../protocol/index.ts'
import { parseJson } from './json-document.ts'

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*(?:utf-8|"utf-8")\s*)?;?\s*$/i

/** Whether the request says that a body follows. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** @throws {FleetError} UNSUPPORTED_MEDIA_TYPE, TOO_LARGE, BAD_REQUEST. */
export async function readJson(request: IncomingMessage, response: ServerResponse, maxBytes: number): Promise<unknown> {
  checkMediaType(request)
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  if (request.headers.expect !== undefined) response.writeContinue()
  const bytes = await readBytes(request, maxBytes)
  if (!isUtf8(bytes)) throw new FleetError('BAD_REQUEST', 'the body is not UTF-8')
  return parseJson(bytes.toString('utf8')) // A byte order mark stays in the text and is not JSON.
}

function checkMediaType({ headers }: IncomingMessage): void {
  if (!JSON_TYPE.test(headers['content-type'] ?? ''))
    throw new FleetError(
      'UNSUPPORTED_MEDIA_TYPE',
      'the body must be JSON in UTF-8; send Content-Type: application/json',
    )
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    throw new FleetError('UNSUPPORTED_MEDIA_TYPE', 'the body must not be compressed; leave Content-Encoding out')
}

const tooLarge = (maxBytes: number): FleetError =>
  new FleetError('TOO_LARGE', `the body is larger than ${maxBytes} bytes`)

function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const settle = (end: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut)
      end()
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length <= maxBytes) return void chunks.push(chunk)
      request.pause()
      settle(() => reject(tooLarge(maxBytes)))
    }
    const onEnd = (): void =>
      settle(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)))
    const onCut = (): void => settle(() => reject(new FleetError('BAD_REQUEST', 'the body ended early')))
    request.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut)
  })
}
