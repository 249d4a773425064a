/**
 * Preloaded into a worker outside the cluster: resolves the fleet's public name to the ingress of the test, as a DNS
 * record would.
 */
import dns from 'node:dns'

const [name, address] = (process.env.MUSTER_TEST_NAME ?? '').split('=')
const { lookup } = dns
dns.lookup = (host, options, done) => {
  if (host !== name) return lookup(host, options, done)
  const answer = typeof options === 'function' ? options : done
  return options.all === true ? answer(null, [{ address, family: 4 }]) : answer(null, address, 4)
}
