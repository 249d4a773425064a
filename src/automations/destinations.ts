/**
 * @module automations/destinations
 * Where the first-party automations may connect to. Judged on the address actually dialled: in the `lookup` of every
 * name (one bad address refuses the name), directly for literals, and again at each redirect.
 *
 *   never       link-local, multicast, 0/8, ::, and the metadata addresses of clouds, whatever the config says
 *   allowed     global unicast addresses
 *   openable    everything else (private ranges, loopback …), through `allow_cidrs`
 * @see IANA special-purpose address registries (RFC 6890)
 */
import { lookup, type LookupAddress, type LookupOptions } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** What a config says about destinations. */
export interface DestinationConfig {
  readonly allow_cidrs: readonly string[]
  readonly allow_ports: readonly number[]
  /** Exact names or `*.suffix`; empty: any. */
  readonly allow_hosts?: readonly string[]
}

/** The destination is not allowed; its message names what was refused and what would open it. */
export class Blocked extends Error {
  override readonly name = 'Blocked'
}

const NEVER = blockList([
  '0.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '::/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::254/128',
])
const NOT_GLOBAL_V4 = blockList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])
const GLOBAL_V6 = blockList(['2000::/3'])
const NOT_GLOBAL_V6 = blockList(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** @throws TypeError naming the entry that is no CIDR. */
export function blockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/')
    const family = isIP(address)
    if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
      throw new TypeError(`${JSON.stringify(cidr)} is not a CIDR; for example 10.0.0.0/8`)
    list.addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** The IPv4 address inside a mapped (::ffff:0:0/96) or translated (64:ff9b::/96) one; undefined: it is neither. */
function innerV4(address: string): string | undefined {
  const groups = v6Groups(address)
  const head = groups.slice(0, 6).join(':')
  if (head !== '0:0:0:0:0:ffff' && head !== '64:ff9b:0:0:0:0') return undefined
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16))
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** The eight groups of an IPv6 address, without leading zeros. */
function v6Groups(address: string): readonly string[] {
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const [a = 0, b = 0, c = 0, d = 0] = (dotted?.slice(1) ?? []).map(Number)
  const plain =
    dotted === null
      ? address
      : `${address.slice(0, dotted.index)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  const [left = '', right] = plain.toLowerCase().split('::')
  const parts = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'))
  const [before, after] = [parts(left), parts(right)]
  const zeros = right === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].map((group) => group.replace(/^0+(?=.)/, ''))
}

/** Whether `address` (a literal, no name) may be dialled. */
export function mayDial(address: string, allowed: BlockList): boolean {
  const bare = address.split('%')[0] ?? ''
  const family = isIP(bare)
  if (family === 0) return false
  const inner = family === 6 ? innerV4(bare) : undefined
  if (inner !== undefined) return mayDial(inner, allowed)
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  if (NEVER.check(bare, kind)) return false
  if (allowed.check(bare, kind)) return true
  return family === 4
    ? !NOT_GLOBAL_V4.check(bare, kind)
    : GLOBAL_V6.check(bare, kind) && !NOT_GLOBAL_V6.check(bare, kind)
}

type Resolve = typeof lookup

/** The destinations of one config. Made once a config, since it is asked for every request. */
export class Destinations {
  readonly #allowed: BlockList
  readonly #ports: ReadonlySet<number>
  readonly #hosts: readonly string[]
  readonly #resolve: Resolve

  /** @throws TypeError when an entry of `allow_cidrs` is no CIDR. */
  constructor(config: DestinationConfig, resolve: Resolve = lookup) {
    this.#allowed = blockList(config.allow_cidrs)
    this.#ports = new Set(config.allow_ports)
    this.#hosts = config.allow_hosts ?? []
    this.#resolve = resolve
  }

  /** Judges everything of a URL but the addresses of its name. @throws Blocked */
  check(url: URL): void {
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new Blocked(`the scheme ${JSON.stringify(url.protocol)} is not allowed; use http or https`)
    if (url.username !== '' || url.password !== '') throw new Blocked('a URL with a user or a password is not allowed')
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    if (!this.#ports.has(port)) throw new Blocked(`port ${port} is not in allow_ports`)
    const host = hostOf(url)
    if (this.#hosts.length > 0 && !matchesHost(host, this.#hosts)) throw new Blocked(`${host} is not in allow_hosts`)
    if (isIP(host) !== 0 && !mayDial(host, this.#allowed)) throw refusal(host)
  }

  /** The `lookup` of a socket: resolves all addresses and refuses the name when one of them is not allowed. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const all: LookupOptions & { all: true } = { ...options, all: true }
    this.#resolve(hostname, all, (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, '', 0)
      const bad = addresses.find(({ address }) => !mayDial(address, this.#allowed))
      if (bad !== undefined) return callback(refusal(`${hostname} (${bad.address})`), '', 0)
      const [first] = addresses
      if (options.all === true || first === undefined) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }
}

const refusal = (what: string): Blocked => new Blocked(`${what} is not a public address and not in allow_cidrs`)

/** The host of a URL, without the brackets of IPv6 and without a final dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** Exact names, and `*.example.com` for everything below it. */
export function matchesHost(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const wanted = pattern.toLowerCase()
    return wanted.startsWith('*.') ? host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1 : host === wanted
  })
}
