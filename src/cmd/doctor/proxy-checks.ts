/**
 * @module cmd/doctor/proxy-checks
 * Checks what proxies often break: upgrades, streams, large bodies and long polls. None of these requests has an
 * effect (D218).
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { CLOSE } from '../../protocol/index.ts'
import { fail, ok, skip, warn, type Check, type Finding } from './check.ts'
import { directivesFor } from './directives.ts'
import { endOf, type Reply, type Response } from './probe-client.ts'
import type { Session } from './session.ts'

/** A worker that does not exist: the token is missing, so the master does not look at type and id. */
const CONTROL_PATH = '/api/v1/automations/doctor/workers/doctor/control'
const BODY_BYTES = 900 * 1_024

export const websocket: Check = {
  name: 'websocket',
  what: 'whether upgrades to WebSocket pass: the master closes a socket without a token with 4401',
  needs: ['healthz'],
  run: async (session) => {
    const { limits, client } = session
    const end = await openSocket(session)
    if (end.kind === 'closed' && end.code === CLOSE.INVALID_TOKEN) return ok('the upgrade passes')
    const next = `workers cannot connect; let the proxy pass upgrades: ${directivesFor('upgrade', client.product)}`
    if (end.kind === 'closed')
      return fail(
        `the socket was closed with ${end.code} instead of 4401`,
        'the close code of the master was lost',
        next,
      )
    if (end.kind === 'late')
      return fail(`no socket within ${limits.upgradeMs / 1_000} s`, 'the upgrade got no response', next)
    if (end.kind === 'lost') return fail('the upgrade failed', end.problem, next)
    const { status, isBusy } = end
    if (isBusy)
      return warn(
        'HTTP 503 from the master',
        'the master admits no socket now, because it starts or stops',
        'repeat in a minute; then look at the log of the master',
      )
    return fail(`HTTP ${status} instead of 101`, 'the headers Upgrade and Connection did not reach the master', next)
  },
}

type SocketEnd =
  | { readonly kind: 'closed'; readonly code: number }
  | { readonly kind: 'refused'; readonly status: number; readonly isBusy: boolean }
  | { readonly kind: 'lost'; readonly problem: string }
  | { readonly kind: 'late' }

function openSocket({ connection: { masterUrl, ca }, limits, io: { time } }: Session): Promise<SocketEnd> {
  const url = new URL(masterUrl)
  url.protocol = masterUrl.protocol === 'https:' ? 'wss:' : 'ws:'
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${CONTROL_PATH}`
  return new Promise((resolve) => {
    const socket = new WebSocket(url, {
      followRedirects: false,
      perMessageDeflate: false,
      ...(ca !== undefined && { ca }),
    })
    const end = (how: SocketEnd): void => {
      cancel()
      resolve(how)
      socket.terminate()
    }
    const cancel = time.after(limits.upgradeMs, () => end({ kind: 'late' }))
    socket.on('close', (code) => end({ kind: 'closed', code }))
    socket.on('error', (error) => end({ kind: 'lost', problem: error.message }))
    socket.on('unexpected-response', (request: ClientRequest, { statusCode = 0, headers }: IncomingMessage) => {
      request.destroy()
      end({ kind: 'refused', status: statusCode, isBusy: statusCode === 503 && headers['retry-after'] !== undefined })
    })
  })
}

export const events: Check = {
  name: 'events',
  what: 'whether the event stream arrives unbuffered: its first byte within 2 s, at the second attempt at the latest',
  needs: ['token'],
  run: async (session) => {
    if (!session.me.permissions.includes('read')) return skip('the token has no permission read')
    const first = await openStream(session) // Once more if it is late, because this machine may be busy.
    const { reply, isStarted } = first.reply.kind === 'late' && !first.isStarted ? await openStream(session) : first
    if (isStarted) return ok(`the first byte came within ${Math.ceil(reply.tookMs)} ms`)
    const { client, limits } = session
    const remedy = `do not buffer responses: ${directivesFor('buffering', client.product)}`
    if (reply.kind === 'late')
      return fail(
        `no byte of the event stream within ${limits.firstByteMs / 1_000} s`,
        'a proxy keeps the stream back until its buffer is full, so the dashboard and --follow show nothing',
        remedy,
      )
    return fail('the event stream cannot be read', endOf(reply), remedyFor(reply, remedy))
  },
}

/** Reads the stream up to the time of the master, which it stores. `isStarted`: whether a part of it arrived. */
async function openStream(session: Session): Promise<{ readonly reply: Reply; readonly isStarted: boolean }> {
  const { client, limits, io } = session
  const sentMs = io.time.wallMs()
  let isStarted = false
  // An id that no master knows begins the stream with an event that contains the time of the master.
  const headers = { accept: 'text/event-stream', 'last-event-id': 'doctor' }
  const request = { path: '/api/v1/events?workers=false', timeoutMs: limits.firstByteMs, headers }
  const reply = await client.sendUntil(request, (text) => {
    isStarted = text.startsWith('retry:')
    return text.includes('"ts":')
  })
  const [, seconds] = /"ts":(\d+(?:\.\d+)?)/.exec(reply.kind === 'response' ? reply.text : '') ?? []
  if (isStarted && seconds !== undefined)
    session.clockOffsetMs = Math.round(Number(seconds) * 1_000 - (sentMs + io.time.wallMs()) / 2)
  return { reply, isStarted }
}

const remedyFor = (reply: Reply, remedy: string): string =>
  reply.kind === 'response' && reply.isOfMaster ? 'look at the log of the master' : remedy

export const body: Check = {
  name: 'body',
  what: 'whether a request body of 900 KiB passes; it is not JSON, so that no route accepts it',
  needs: ['token'],
  after: ['events'],
  run: async (session) => {
    const { client, limits, me } = session
    if (!me.permissions.includes('read') && !me.permissions.includes('submit'))
      return skip('the token has neither the permission read nor submit')
    const type = await session.type()
    if (type === undefined)
      return skip('the token may not list the automation types, so no route is known that checks a body')
    const bytes = Math.min(BODY_BYTES, me.limits.max_body_bytes)
    const reply = await client.send({
      method: 'POST',
      path: `/api/v1/automations/${encodeURIComponent(type)}/tasks/validate`,
      timeoutMs: limits.upgradeMs,
      body: 'x'.repeat(bytes),
    })
    return bodyFinding(reply, bytes, session)
  },
}

function bodyFinding(reply: Reply, bytes: number, { client, me }: Session): Finding {
  const size = `a body of ${Math.floor(bytes / 1_024)} KiB`
  const directives = directivesFor('body', client.product)
  const next = `permit bodies above SVC_MAX_BODY_BYTES (${me.limits.max_body_bytes}): ${directives}`
  if (reply.kind !== 'response') return fail(`${size} does not pass`, endOf(reply), next)
  if (reply.isOfMaster && reply.status === 400) return ok(`${size} passes`)
  if (reply.isOfMaster)
    return warn(`${size} was not read`, endOf(reply), 'repeat in a minute; then look at the log of the master')
  return fail(`${size} does not pass`, endOf(reply), next)
}

export const longPoll: Check = {
  name: 'long-poll',
  what: 'whether a request that waits 20 s for its response passes',
  needs: ['token'],
  run: async (session) => {
    const { client, limits } = session
    const seconds = limits.longPollMs / 1_000
    const reply = await client.send({
      path: '/api/v1/me',
      timeoutMs: limits.longPollMs + limits.stepMs,
      headers: { prefer: `wait=${seconds}` },
    })
    if (reply.kind === 'response' && reply.isOfMaster) return waitFinding(reply, seconds)
    return fail(
      `a long poll of ${seconds} s does not pass`,
      `${endOf(reply)}, after ${(reply.tookMs / 1_000).toFixed(1)} s`,
      'let the proxy wait longer, because workers and clients poll for up to 30 s: ' +
        directivesFor('longPoll', client.product),
    )
  },
}

function waitFinding(reply: Response, seconds: number): Finding {
  if (reply.status !== 200)
    return warn('the master did not wait', endOf(reply), 'repeat in a minute; then look at the log of the master')
  if (reply.header('preference-applied') === undefined)
    return skip('the master is of an earlier release, which has no long poll without effect')
  if (reply.tookMs < seconds * 900)
    return warn(`the response came after ${(reply.tookMs / 1_000).toFixed(1)} s`, 'the master was stopped', 'repeat it')
  return ok(`the response came after ${(reply.tookMs / 1_000).toFixed(1)} s`)
}
