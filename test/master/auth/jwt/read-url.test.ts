/** Hostile sources of keys, over a real connection. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { readUrl } from '../../../../src/master/auth/index.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
}

describe('readUrl', () => {
  it('returns the body', async () => {
    const url = await serve((_, response) => response.end('{"keys":[]}'))
    expect(await readUrl(url)).toBe('{"keys":[]}')
  })

  it('follows no redirect', async () => {
    let followed = 0
    const target = await serve((_, response) => {
      followed += 1
      response.end('{"keys":[]}')
    })
    const url = await serve((_, response) => response.writeHead(302, { location: target }).end())
    await expect(readUrl(url)).rejects.toThrow()
    expect(followed).toBe(0)
  })

  it('ends a body above 1 MiB, without reading the rest', async () => {
    const url = await serve((_, response) => {
      const chunk = Buffer.alloc(65_536, 'x')
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        response.once('drain', more)
      }
      more()
    })
    await expect(readUrl(url)).rejects.toThrow('sent more than 1048576 bytes')
  })

  it('ends a request without a response, and one whose body hangs', async () => {
    const silent = await serve(() => {})
    await expect(readUrl(silent, 200)).rejects.toThrow('timeout')
    const hanging = await serve((_, response) => void response.write('{"keys":'))
    await expect(readUrl(hanging, 200)).rejects.toThrow('timeout')
  })

  it('accepts the status 200 alone', async () => {
    for (const status of [204, 404, 500]) {
      const url = await serve((_, response) => response.writeHead(status).end())
      await expect(readUrl(url)).rejects.toThrow(`responded with status ${status}`)
    }
  })
})
