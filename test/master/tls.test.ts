/** The master's own TLS: rotation under open connections, and what clients must be able to rely on. */
import { once } from 'node:events'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { getCACertificates, setDefaultCACertificates, connect as tlsConnect, type ConnectionOptions } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { VirtualTime } from '../../src/runtime/index.ts'
import { tlsFault, watchTls, type TlsPair } from '../../src/master/http/index.ts'
import { HAS_OPENSSL, makeCertificates, type Certificate, type Certificates } from '../kit/certificates.ts'
import { eventually } from '../kit/index.ts'
import { recordingLog } from '../kit/recording-log.ts'
import { SETTINGS, startTestMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'

if (!HAS_OPENSSL && process.env['CI'] === 'true') throw new Error('openssl is missing')
const describeWithOpenssl = HAS_OPENSSL ? describe : describe.skip

const TYPE = '/api/v1/automations/mailer'
const SOCKETS = 100

const pairOf = ({ cert, key }: Certificate): TlsPair => ({ cert, key })

describeWithOpenssl('a master with a certificate (D233)', () => {
  let certificates: Certificates
  let master: TestMaster
  let files: TlsPair

  beforeAll(async () => {
    certificates = makeCertificates()
    files = pairOf(certificates.server)
    setDefaultCACertificates([...getCACertificates('default'), certificates.ca.cert])
    master = await startTestMaster({
      tls: { pair: files, minVersion: 'TLSv1.2', reread: async () => files },
      settings: { ...SETTINGS, maxBodyBytes: 2 * 1_048_576 },
    })
  }, 60_000)
  afterAll(async () => {
    await master.stop()
    certificates.close()
  })

  const call = (
    path: string,
    { body, ...options }: RequestOptions & { readonly body?: string } = {},
  ): Promise<{ readonly status: number; readonly text: string }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKENS.admin}`, 'content-type': 'application/json' }
      const request = httpsRequest(master.url + path, { ca: certificates.ca.cert, headers, ...options }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      request.on('error', reject).end(body)
    })

  const handshake = (options: ConnectionOptions = {}): Promise<{ readonly serial: string; readonly version: string }> =>
    new Promise((resolve, reject) => {
      const socket = tlsConnect({ port: master.port, host: '127.0.0.1', ca: certificates.ca.cert, ...options }, () => {
        const serial = socket.getPeerCertificate().serialNumber
        const version = socket.getProtocol() ?? ''
        socket.destroy()
        resolve({ serial, version })
      })
      socket.on('error', reject)
    })

  const openWorker = async (id: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${master.url.replace('https', 'wss')}${TYPE}/workers/${id}/control`, {
      ca: certificates.ca.cert,
      headers: { authorization: `Bearer ${TOKENS.worker}` },
    })
    await once(socket, 'open')
    return socket
  }

  const ping = async (socket: WebSocket): Promise<void> => {
    const received = once(socket, 'pong')
    socket.ping()
    await received
  }

  it('serves requests, a body of 1 MiB and an event stream', async () => {
    expect(master.url).toMatch(/^https:/)
    expect((await call('/healthz')).status).toBe(200)
    const large = JSON.stringify({ payload: { to: 'x'.repeat(1_048_576) } })
    expect((await call(`${TYPE}/tasks/validate`, { method: 'POST', body: large })).status).toBe(200)
    const first = await new Promise<string>((resolve, reject) => {
      const options = { ca: certificates.ca.cert, headers: { authorization: `Bearer ${TOKENS.admin}` } }
      const request = httpsRequest(`${master.url}/api/v1/events`, options, (response) => {
        response.once('data', (chunk: Buffer) => {
          resolve(chunk.toString())
          request.destroy()
        })
      })
      request.on('error', reject).end()
    })
    expect(first).toContain('retry: ')
  })

  it('replaces the certificate under 100 sockets without a reconnect, and keeps it for a bad pair', async () => {
    const before = await handshake()
    const sockets = await Promise.all(Array.from({ length: SOCKETS }, (_, n) => openWorker(`w-${n}`)))
    let closed = 0
    for (const socket of sockets) socket.on('close', () => (closed += 1))
    files = { cert: certificates.client.cert, key: certificates.server.key }
    await eventually(() => master.lines.some(({ message }) => message.startsWith('the changed certificate cannot be')))
    expect(await handshake()).toEqual(before)
    files = pairOf(certificates.client)
    await eventually(async () => (await handshake()).serial !== before.serial)
    await Promise.all(sockets.map(ping))
    expect(closed).toBe(0)
    for (const socket of sockets) socket.terminate()
    files = pairOf(certificates.server)
    await eventually(async () => (await handshake()).serial === before.serial)
  })

  it('is refused by clients when its name is wrong, it has expired, or another authority signed it', async () => {
    for (const [certificate, code] of [
      [certificates.elsewhere, 'ERR_TLS_CERT_ALTNAME_INVALID'],
      [certificates.expired, 'CERT_HAS_EXPIRED'],
      [certificates.stranger, /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT/],
    ] as const) {
      files = pairOf(certificate)
      const codeNow = (): Promise<string> =>
        handshake().then(
          () => '',
          (error: unknown) => (error as NodeJS.ErrnoException).code ?? '',
        )
      await eventually(async () => new RegExp(code).test(await codeNow()))
    }
    files = pairOf(certificates.server)
    await eventually(() =>
      handshake().then(
        () => true,
        () => false,
      ),
    )
  })

  it('accepts TLS 1.2 and 1.3, and neither 1.1 nor plain HTTP', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
      expect(await handshake({ minVersion: version, maxVersion: version })).toMatchObject({ version })
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    await expect(handshake(old)).rejects.toThrow()
    await expect(fetch(`${master.url.replace('https', 'http')}/healthz`)).rejects.toThrow()
    expect((await call('/healthz')).status).toBe(200)
  })
})

describeWithOpenssl('watchTls', () => {
  it('applies a changed pair, and logs a bad one once until it changes', async () => {
    const certificates = makeCertificates()
    try {
      const time = new VirtualTime()
      const log = recordingLog()
      const [good, other] = [pairOf(certificates.server), pairOf(certificates.client)]
      let files: TlsPair | Error = good
      const applied: TlsPair[] = []
      const reread = async (): Promise<TlsPair> => {
        if (files instanceof Error) throw files
        return files
      }
      const stop = watchTls({
        timers: time,
        log,
        tls: { pair: good, minVersion: 'TLSv1.2', reread },
        apply: (pair) => void applied.push(pair),
      })
      const messages = (): readonly unknown[] => log.lines.map(({ fields }) => (fields as { fault?: string }).fault)
      const bad = [
        { cert: other.cert, key: good.key },
        { cert: 'x', key: good.key },
        { cert: other.cert, key: 'x' },
        Object.assign(new Error('gone'), { code: 'ENOENT' }),
      ]
      for (const each of bad) {
        files = each
        await time.advance(6_000)
      }
      expect(applied).toEqual([])
      expect(messages()).toEqual([
        'the key is not the key of the certificate',
        'the certificate file contains no PEM certificate',
        'the key file contains no PEM private key without a passphrase',
        'the files cannot be read: ENOENT',
      ])
      files = other
      await time.advance(6_000)
      expect(applied).toEqual([other])
      expect(tlsFault(other)).toBeNull()
      stop()
    } finally {
      certificates.close()
    }
  })
})
