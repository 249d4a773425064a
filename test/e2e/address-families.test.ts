/**
 * A listen address without a host (`:8080`) accepts both address families, or the only one of the machine: IPv6, as on
 * an IPv6-only cluster, or IPv4. Each case runs in its own network namespace.
 */
import { describe, expect, it } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { BUILT_COMMAND } from '../kit/built-command.ts'

/** Starts a master and a worker with a health listener, and prints the status of each URL of `$URLS`. */
const SCRIPT = String.raw`
set -eu
ip link set lo up
eval "$PREPARE"
export SVC_ADMIN_TOKEN=admin-token-of-the-test SVC_WORKER_TOKEN=worker-token-of-the-test
export SVC_AUTOMATIONS=muster/automations SVC_LOG_LEVEL=error
SVC_LISTEN=:8080 SVC_BACKEND_URL=memory:// "$NODE" "$MUSTER" master & master=$!
export SVC_MASTER_URL=http://localhost:8080 SVC_AUTOMATION_TYPE=http-probe SVC_WORKER_ID=w
SVC_HEALTH_LISTEN=:9091 "$NODE" "$MUSTER" worker & worker=$!
trap 'kill -9 $master $worker' EXIT
"$NODE" -e '
  const until = performance.now() + 30_000
  const status = async (url) => (await fetch(url).catch(() => ({ status: 0 }))).status
  for (const url of process.env.URLS.split(" ")) {
    let got = 0
    while ((got = await status(url)) === 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 50))
    console.log(url, got)
  }' --input-type=module
`
const canIsolate = spawnSync('unshare', ['--net', 'true']).status === 0
const inNamespace = canIsolate || process.env['CI'] === 'true' ? it : it.skip

function statusOf(prepare: string, urls: readonly string[]): string {
  if (!existsSync(BUILT_COMMAND)) throw new Error('dist/cmd/muster.js is missing: run `make build` first')
  const environment = {
    PATH: `${process.env['PATH']}:/usr/sbin:/sbin`,
    PREPARE: prepare,
    URLS: urls.join(' '),
    NODE: process.execPath,
    MUSTER: BUILT_COMMAND,
  }
  const { stdout, stderr } = spawnSync('unshare', ['--net', 'bash', '-c', SCRIPT], {
    env: environment,
    encoding: 'utf8',
    timeout: 60_000,
  })
  return stdout === '' ? stderr : stdout
}

describe('a listen address without a host', () => {
  inNamespace.each([
    ['IPv6 only', 'ip address delete 127.0.0.1/8 dev lo', ['http://[::1]:8080/healthz', 'http://[::1]:9091/healthz']],
    [
      'IPv4 only',
      'ip -6 address delete ::1/128 dev lo',
      ['http://127.0.0.1:8080/healthz', 'http://127.0.0.1:9091/healthz'],
    ],
    [
      'both',
      ':',
      [
        'http://[::1]:8080/healthz',
        'http://127.0.0.1:8080/healthz',
        'http://[::1]:9091/healthz',
        'http://127.0.0.1:9091/healthz',
      ],
    ],
  ])(
    'accepts %s',
    (_, prepare, urls) => {
      expect(statusOf(prepare, urls)).toBe(urls.map((url) => `${url} 200\n`).join(''))
    },
    90_000,
  )
})
