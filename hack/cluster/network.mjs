// Creates the network of the cluster: a network namespace, and a veth pair that connects it to the machine. The alias
// of the machine's end names the checkout, so that a checkout with the same number does not remove it as its own
// leftover.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { NETWORK, ROOT, WIRE } from './paths.mjs'
import { quietly } from './processes.mjs'

/** The kernel keeps 255 bytes of an alias. */
const NAME = ROOT.slice(-200)
const ALIAS = `/sys/class/net/${WIRE.outside.device}/ifalias`

const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

/** @returns the other checkout whose cluster uses these addresses; undefined if there is none. */
export function stranger() {
  const owner = existsSync(ALIAS) ? readFileSync(ALIAS, 'utf8').trim() : ''
  return owner === '' || owner === NAME ? undefined : owner
}

export function makeNetwork() {
  const inside = (...args) => run('nsenter', `--net=/run/netns/${NETWORK}`, ...args)
  const { outside, inside: end, bits } = WIRE
  run('ip', 'netns', 'add', NETWORK)
  run('ip', 'link', 'add', outside.device, 'type', 'veth', 'peer', 'name', end.device, 'netns', NETWORK)
  run('ip', 'link', 'set', outside.device, 'alias', NAME)
  run('ip', 'address', 'add', `${outside.ip}/${bits}`, 'dev', outside.device)
  run('ip', 'link', 'set', outside.device, 'up')
  inside('ip', 'address', 'add', `${end.ip}/${bits}`, 'dev', end.device)
  inside('ip', 'link', 'set', end.device, 'up')
  inside('ip', 'link', 'set', 'lo', 'up')
  inside('ip', 'route', 'add', 'default', 'via', outside.ip)
  inside('sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward')
}

export function removeNetwork() {
  if (stranger() !== undefined) return
  quietly('ip', 'link', 'delete', WIRE.outside.device)
  quietly('ip', 'netns', 'delete', NETWORK)
}
