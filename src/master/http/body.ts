/**
 * @module master/http/body
 * Reads the body of a request. It checks the content type, the declared length, the number of bytes, UTF-8 and JSON, in
 * this order. The caller has already checked the sender: no byte of the body is read before that.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import { FleetError } from '../../protocol/index.ts'
import type { RequestContext } from './request-context.ts'
import { parseJson } from './json-document.ts'
import { expectsContinue } from './request-head.ts'

const JSON_TYPE = 'application/json'
/** Labels of UTF-8 (WHATWG Encoding). Without a charset, JSON is UTF-8 (RFC 8259 section 8.1). */
const UTF8 = /^utf-?8$/i

export interface JsonBody {
  readonly text: string
  readonly document: unknown
}
/** The value of an absent body. */
const EMPTY: JsonBody = { text: '{}', document: {} }

/** Whether the headers announce a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Reads the body.
 * @returns the body `{}` for an empty one where `mayBeAbsent` is true.
 * @throws {FleetError} UNSUPPORTED_MEDIA_TYPE, TOO_LARGE, BAD_REQUEST.
 */
export async function readJson(context: RequestContext, maxBytes: number, mayBeAbsent: boolean): Promise<JsonBody> {
  const { request, response } = context
  if (mayBeAbsent && !announcesBody(request)) return EMPTY
  // A chunked body may turn out to be empty, and an empty one needs no type.
  const mayBeEmpty = mayBeAbsent && request.headers['transfer-encoding'] !== undefined
  if (!mayBeEmpty) checkMediaType(request)
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  if (expectsContinue(request)) response.writeContinue()
  const bytes = await readBytes(context, maxBytes)
  if (mayBeEmpty && bytes.length === 0) return EMPTY
  if (mayBeEmpty) checkMediaType(request)
  if (!isUtf8(bytes)) throw new FleetError('BAD_REQUEST', 'the body is not UTF-8')
  const text = bytes.toString('utf8') // A byte order mark stays in the text and is not JSON.
  return { text, document: parseJson(text) }
}

function checkMediaType({ headers }: IncomingMessage): void {
  if (!isJson(headers['content-type'] ?? ''))
    throw new FleetError(
      'UNSUPPORTED_MEDIA_TYPE',
      'the body must be JSON in UTF-8; send Content-Type: application/json',
    )
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    throw new FleetError('UNSUPPORTED_MEDIA_TYPE', 'the body must not be compressed; leave Content-Encoding out')
}

/**
 * Whether a Content-Type is JSON in UTF-8. Parameters other than `charset` mean nothing for JSON (RFC 8259 section 11).
 */
function isJson(contentType: string): boolean {
  if (contentType === JSON_TYPE) return true
  try {
    const { essence, params } = new MIMEType(contentType)
    return essence === JSON_TYPE && UTF8.test(params.get('charset') ?? 'utf-8')
  } catch {
    return false
  }
}

const tooLarge = (maxBytes: number): FleetError =>
  new FleetError('TOO_LARGE', `the body is larger than ${maxBytes} bytes`)

function readBytes(context: RequestContext, maxBytes: number): Promise<Buffer> {
  const { request, response } = context
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const settle = (end: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut)
      response.off('close', onCut)
      end()
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      context.bodyBytes = length
      if (length <= maxBytes) return void chunks.push(chunk)
      request.pause()
      settle(() => reject(tooLarge(maxBytes)))
    }
    const onEnd = (): void =>
      settle(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length)))
    const onCut = (): void =>
      settle(() => reject(new FleetError('BAD_REQUEST', 'the connection ended before the whole body arrived')))
    request.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut)
    response.on('close', onCut) // A request that was rejected meanwhile emits no further events.
  })
}
