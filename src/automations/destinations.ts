/**
 * @module automations/destinations
 * Where the first-party automations may connect to. Judged on the address actually dialled: in the `lookup` of every
 * name (one bad address refuses the name), directly for literals, and again at each redirect.
 *
 *   never       link-local, multicast, 0/8, ::, and the metadata addresses of clouds, whatever the config says
 *   allowed     global unicast addresses
 *   openable    everything else (private ranges, loopback …), through `allow_cidrs`
 *
 * The environment of the worker can limit what a config opens (D90): SVC_ALLOW_CIDRS names the ranges that
 * `allow_cidrs` may open, SVC_ALLOW_HOSTS the hosts that may be connected to. A config cannot widen either.
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

/** The limits that the worker's environment sets for every config; undefined: none. */
export interface DestinationLimits {
  readonly cidrs: BlockList | undefined
  /** As `allow_hosts`. */
  readonly hosts: readonly string[] | undefined
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
  '192.0.0.192/32', // Oracle Cloud, beside 169.254.169.254
  '::/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/64', // AWS: metadata, DNS, time, credentials of pods
  'fd20:ce::254/128', // Google Cloud
  'fd00:c1::a9fe:a9fe/128', // Oracle Cloud
  'fd00:42::42/128', // Scaleway
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

/**
 * Whether `address` (a literal, no name) may be dialled. `ceiling`: the ranges that `allowed` can open; undefined: any.
 */
export function mayDial(address: string, allowed: BlockList, ceiling?: BlockList): boolean {
  const bare = address.split('%')[0] ?? ''
  const family = isIP(bare)
  if (family === 0) return false
  const inner = family === 6 ? innerV4(bare) : undefined
  if (inner !== undefined) return mayDial(inner, allowed, ceiling)
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  if (NEVER.check(bare, kind)) return false
  if (allowed.check(bare, kind) && (ceiling?.check(bare, kind) ?? true)) return true
  return family === 4
    ? !NOT_GLOBAL_V4.check(bare, kind)
    : GLOBAL_V6.check(bare, kind) && !NOT_GLOBAL_V6.check(bare, kind)
}

type Resolve = typeof lookup

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** The destinations of one config. Made once a config, since it is asked for every request. */
export class Destinations {
  readonly #allowed: BlockList
  readonly #ports: ReadonlySet<number>
  readonly #hosts: readonly string[]
  readonly #limits: DestinationLimits
  readonly #resolve: Resolve

  /** @throws TypeError when an entry of `allow_cidrs` is no CIDR. */
  constructor(config: DestinationConfig, limits: DestinationLimits = NO_LIMITS, resolve: Resolve = lookup) {
    this.#limits = limits
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
    const port = portOf(url)
    if (!this.#ports.has(port)) throw new Blocked(`port ${port} is not in allow_ports`)
    if (this.#hosts.length > 0 && !matchesHost(url, this.#hosts))
      throw new Blocked(`${url.origin} is not in allow_hosts`)
    const { hosts } = this.#limits
    if (hosts !== undefined && !matchesHost(url, hosts))
      throw new Blocked(`${url.origin} is not in SVC_ALLOW_HOSTS of this worker`)
    const host = hostOf(url)
    if (isIP(host) !== 0 && !this.#mayDial(host)) throw this.#refusal(host, host)
  }

  /** The `lookup` of a socket: resolves all addresses and refuses the name when one of them is not allowed. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const all: LookupOptions & { all: true } = { ...options, all: true }
    this.#resolve(hostname, all, (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => {
      if (error !== null) return callback(error, '', 0)
      const bad = addresses.find(({ address }) => !this.#mayDial(address))
      if (bad !== undefined) return callback(this.#refusal(`${hostname} (${bad.address})`, bad.address), '', 0)
      const [first] = addresses
      if (options.all === true || first === undefined) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }

  #mayDial(address: string): boolean {
    return mayDial(address, this.#allowed, this.#limits.cidrs)
  }

  #refusal(what: string, address: string): Blocked {
    const isOpenedByConfig = mayDial(address, this.#allowed)
    return new Blocked(
      isOpenedByConfig
        ? `${what} is not a public address and not in SVC_ALLOW_CIDRS of this worker`
        : `${what} is not a public address and not in allow_cidrs`,
    )
  }
}

/** The host of a URL, without the brackets of IPv6 and without a final dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 }
const PATTERN = /^(?:(?<scheme>https?):\/\/)?(?:\[(?<v6>[0-9a-f:.]+)\]|(?<host>[^:[\]]+))(?::(?<port>\d{1,5}))?$/

interface HostPattern {
  readonly scheme: string | undefined
  readonly host: string
  readonly port: number | undefined
}

/** A bare IPv6 address has no port: with one it stands in brackets. */
function parsePattern(text: string): HostPattern | undefined {
  const pattern = text.toLowerCase()
  if (isIP(pattern) === 6) return { scheme: undefined, host: pattern, port: undefined }
  const { scheme, v6, host = v6, port } = PATTERN.exec(pattern)?.groups ?? {}
  return host === undefined ? undefined : { scheme, host, port: port === undefined ? undefined : Number(port) }
}

/**
 * Whether one of the patterns covers a URL: an exact name or `*.example.com` for everything below it, with a scheme and
 * a port where it names them. `https://api.example.com` means port 443.
 *
 * @param strict a name alone means https on port 443; otherwise any scheme and any port.
 */
export function matchesHost(url: URL, patterns: readonly string[], strict = false): boolean {
  const host = hostOf(url)
  const scheme = url.protocol.slice(0, -1)
  const port = url.port === '' ? DEFAULT_PORTS[scheme] : Number(url.port)
  return patterns.some((text) => {
    const wanted = parsePattern(text)
    if (wanted === undefined) return false
    const isHost = wanted.host.startsWith('*.')
      ? host.endsWith(wanted.host.slice(1)) && host.length > wanted.host.length - 1
      : host === wanted.host
    const wantedScheme = wanted.scheme ?? (strict ? 'https' : undefined)
    const wantedPort = wanted.port ?? (wantedScheme === undefined ? undefined : DEFAULT_PORTS[wantedScheme])
    return isHost && (wantedScheme ?? scheme) === scheme && (wantedPort ?? port) === port
  })
}

const NO_LIMITS: DestinationLimits = { cidrs: undefined, hosts: undefined }

/**
 * Reads SVC_ALLOW_CIDRS and SVC_ALLOW_HOSTS: lists separated by commas; `none` allows nothing.
 * @throws TypeError naming the entry that is no CIDR.
 */
export function limitsOf(environment: Readonly<Record<string, string | undefined>>): DestinationLimits {
  const cidrs = listOf(environment['SVC_ALLOW_CIDRS'])
  return { cidrs: cidrs === undefined ? undefined : blockList(cidrs), hosts: listOf(environment['SVC_ALLOW_HOSTS']) }
}

function listOf(text = ''): readonly string[] | undefined {
  if (text.trim() === '') return undefined
  return text.trim() === 'none'
    ? []
    : text
        .split(',')
        .map((each) => each.trim())
        .filter((each) => each !== '')
}
