/** @module worker-test/damage  Sends an HTTP response as a broken network or proxy would. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { systemTime } from '../runtime/index.ts'

export type Damage =
  /** The connection ends before the response. */
  | { readonly kind: 'lost' }
  /** The connection ends after half of the body. */
  | { readonly kind: 'cut in half' }
  /** The body arrives twice, so it is not JSON. */
  | { readonly kind: 'doubled' }
  | { readonly kind: 'late'; readonly ms: number }

/** Resolves when the response was sent, or its connection ended. */
export async function sendDamaged(response: ServerResponse, text: string, damage: Damage): Promise<void> {
  const body = Buffer.from(text)
  const send = (sent: Buffer): void => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.byteLength }).write(sent)
  }
  switch (damage.kind) {
    case 'lost':
      response.destroy()
      return
    case 'cut in half':
      send(body.subarray(0, body.byteLength / 2))
      response.socket?.end()
      return
    case 'doubled':
      response.writeHead(200, { 'content-type': 'application/json' }).end(text + text)
      return
    case 'late':
      await new Promise<void>((resolve) => void systemTime.after(damage.ms, resolve))
      send(body)
      response.end()
  }
}

/** Ends a handshake with a response. */
export function rejectUpgrade(socket: Duplex, status: number, headers: Readonly<Record<string, string>>): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} No\r\n${lines.join('')}Connection: close\r\nContent-Length: 0\r\n\r\n`)
}
