/** @module cmd/doctor/master-checks  Checks the master: its response, view of the token, version and clock. */
import type { MeBody } from '../../protocol/index.ts'
import { VERSION } from '../version.ts'
import { fail, ok, skip, warn, type Check, type Finding } from './check.ts'
import { directivesFor } from './directives.ts'
import { endOf, type Response } from './probe-client.ts'
import type { Session } from './session.ts'

const DAY_SECONDS = 86_400
const SOON_SECONDS = 7 * DAY_SECONDS
/** Below it, the resolution of the times and the network explain the difference. */
const CLOCK_WARN_MS = 5_000
/** Tokens with an expiry, `not_before` and the time limits of changes are wrong by this. */
const CLOCK_FAIL_MS = 60_000

export const healthz: Check = {
  name: 'healthz',
  what: 'whether a master responds to `/healthz`, and not something else',
  needs: ['tls'],
  run: async (session) => {
    const { client, limits } = session
    const reply = await client.send({ path: '/healthz', timeoutMs: limits.stepMs, isAnonymous: true })
    if (reply.kind === 'response') return healthOf(reply, session)
    return fail(
      '/healthz returns nothing',
      endOf(reply),
      'look at the log of the master; a port that uses TLS needs https in the URL; ' +
        `for a proxy, ${directivesFor('upstream')}`,
    )
  },
}

function healthOf(reply: Response, { client, connection: { from, masterUrl } }: Session): Finding {
  const { status } = reply
  const body = (reply.json() ?? {}) as { readonly status?: unknown }
  const isOk = status === 200 && body.status === 'ok'
  if (isOk && reply.isOfMaster) return ok(`HTTP 200 in ${Math.round(reply.tookMs)} ms${through(client.product)}`)
  if (status >= 502 && status <= 504 && !reply.isOfMaster)
    return fail(
      `HTTP ${status} from the proxy`,
      'the proxy does not reach the master',
      `check whether the master runs, and where the proxy looks for it: ${directivesFor('upstream', client.product)}`,
    )
  const location = reply.header('location')
  if (status >= 300 && status < 400 && location !== undefined)
    return fail(
      `HTTP ${status}: a redirect to ${location}`,
      'the token is sent only to the URL that you give, so redirects are not followed',
      `use the new address in ${from.masterUrl}`,
    )
  if (status === 400 && /https/i.test(reply.text))
    return fail('HTTP 400', `port ${masterUrl.port} uses TLS`, `use https in ${from.masterUrl}`)
  return fail(
    `HTTP ${status}`,
    'the response is not that of a master, which returns {"status":"ok"} with Muster-Request-Id',
    `correct host, port and path of ${from.masterUrl}; for a proxy, ${directivesFor('route', client.product)}`,
  )
}

const through = (product: string | undefined): string => (product === undefined ? '' : `, through ${product}`)

export const token: Check = {
  name: 'token',
  what: 'whether the master accepts the token; its role, permissions and expiry',
  needs: ['healthz'],
  run: async (session) => {
    const { client, limits, connection } = session
    const reply = await client.send({ path: '/api/v1/me', timeoutMs: limits.stepMs })
    if (reply.kind !== 'response')
      return fail(
        '/me returns nothing',
        endOf(reply),
        `check the routes of the proxy: ${directivesFor('route', client.product)}`,
      )
    const me = reply.json() as MeBody | undefined
    if (reply.status === 200 && me?.role !== undefined) {
      session.me = me
      return tokenFinding(me, session)
    }
    if (reply.isOfMaster && (reply.status === 401 || reply.status === 403))
      return fail(
        'the master does not accept the token',
        endOf(reply),
        `correct the token of ${connection.from.token}: it is one of SVC_ADMIN_TOKEN, SVC_TOKENS and ` +
          'SVC_TOKEN_SCOPES of the master, or a JWT of an issuer in SVC_JWT_ISSUERS',
      )
    return fail(
      '/me is not readable',
      endOf(reply),
      reply.isOfMaster
        ? 'look at the log of the master'
        : `the proxy must pass all paths and the header Authorization: ${directivesFor('route', client.product)}`,
    )
  },
}

function tokenFinding(me: MeBody, { io, connection }: Session): Finding {
  const { role, name, permissions, automations, expires_at: expiresAt, issuer } = me
  const types = automations.includes('*') ? 'all types' : automations.join(', ')
  const leftSeconds = expiresAt === undefined ? null : expiresAt - io.time.wallMs() / 1_000
  const expiry = leftSeconds === null ? 'does not expire' : `expires in ${spanOf(leftSeconds)}`
  const who = `role ${role}${name === null ? '' : ` "${name}"`}${issuer === undefined ? '' : ` of issuer ${issuer}`}`
  const text = `${who}, may ${permissions.join(', ')} for ${types === '' ? 'no type' : types}, ${expiry}`
  if (role === 'worker' || role === 'scaler')
    return warn(
      text,
      `the other commands need an admin or scoped token; this is a token of ${role}s`,
      `set another token in ${connection.from.token}`,
    )
  const isSoon = leftSeconds !== null && leftSeconds < SOON_SECONDS && issuer === undefined // JWTs live for minutes.
  if (isSoon) return warn(text, 'it ends soon', 'create its successor now, and change expires in SVC_TOKENS')
  return ok(text)
}

function spanOf(seconds: number): string {
  if (seconds >= 2 * DAY_SECONDS) return `${Math.floor(seconds / DAY_SECONDS)} days`
  return seconds >= 7_200 ? `${Math.floor(seconds / 3_600)} hours` : `${Math.max(0, Math.floor(seconds / 60))} minutes`
}

export const versions: Check = {
  name: 'versions',
  what: 'whether the versions of this command and of all masters fit',
  needs: ['token'],
  run: ({ me }) => {
    const others = (me.masters ?? []).map(({ version }) => version ?? 'a release without a version')
    const different = [...new Set(others)].filter((version) => version !== me.version)
    const text = `master ${me.version}, this command ${VERSION}`
    if (different.length > 0)
      return warn(
        `${text}; other masters: ${different.join(', ')}`,
        'an upgrade is under way, or has stopped half way',
        'upgrade all masters; in Kubernetes: kubectl rollout status of their Deployment',
      )
    const steps = stepsBetween(me.version, VERSION)
    if (steps === 0) return ok(text)
    return steps > 0
      ? warn(
          text,
          'a master rejects what a newer command sends and it does not know',
          `upgrade the master to ${VERSION}`,
        )
      : warn(
          text,
          'this command does not know what a newer master offers',
          `install muster ${me.version} on this machine`,
        )
  },
}

/** @returns 0 if both are of one minor release; above 0 if the second one is newer. */
function stepsBetween(master: string, own: string): number {
  const [masterMajor = 0, masterMinor = 0] = numbersOf(master)
  const [ownMajor = 0, ownMinor = 0] = numbersOf(own)
  return ownMajor === masterMajor ? ownMinor - masterMinor : ownMajor - masterMajor
}

const numbersOf = (version: string): readonly number[] =>
  version
    .split('.', 2)
    .map(Number)
    .filter((number) => Number.isInteger(number))

export const clock: Check = {
  name: 'clock',
  what: 'the difference between the clocks of this machine and the master',
  needs: ['events'],
  run: ({ clockOffsetMs }) => {
    if (clockOffsetMs === undefined) return skip('the event stream of this master shows no time')
    const ms = Math.abs(clockOffsetMs)
    const text = `the master is ${(ms / 1_000).toFixed(1)} s ${clockOffsetMs < 0 ? 'behind' : 'ahead of'} this machine`
    if (ms < CLOCK_WARN_MS) return ok(ms < 1_000 ? 'less than 1 s' : text)
    const cause = 'one of the two clocks is wrong; expiries of tokens, --not-before and times in tables are off by this'
    const next = 'compare both with timedatectl, and start a time service such as chrony or systemd-timesyncd'
    return ms < CLOCK_FAIL_MS ? warn(text, cause, next) : fail(text, cause, next)
  },
}
