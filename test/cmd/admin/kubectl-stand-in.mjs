#!/usr/bin/env node
/**
 * Stands in for kubectl in tests, where no kubelet runs that could forward a port. It has one Service and one Secret,
 * logs its arguments to KUBECTL_LOG, and really forwards a port of the loopback address to KUBECTL_MASTER_PORT.
 * `test/cluster` runs the same commands with kubectl itself.
 */
import { appendFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'

const { KUBECTL_LOG, KUBECTL_MASTER_PORT, KUBECTL_SERVICES = 'muster-master', KUBECTL_TOKEN = '' } = process.env
const words = process.argv.slice(2)
appendFileSync(KUBECTL_LOG, `${process.pid} ${words.join(' ')}\n`)

if (words[0] === 'get' && words[1] === 'services')
  console.log(
    JSON.stringify({
      items: KUBECTL_SERVICES.split(',')
        .filter(Boolean)
        .map((name) => ({ metadata: { name } })),
    }),
  )
else if (words[0] === 'get' && words[2] === 'muster-tokens')
  console.log(JSON.stringify({ data: { 'admin-token': Buffer.from(KUBECTL_TOKEN).toString('base64') } }))
else if (words[0] === 'get') fail(`Error from server (NotFound): secrets "${words[2]}" not found`)
else if (words[0] === 'port-forward' && words.includes('service/muster-master')) forward()
else fail('Error from server (NotFound): services not found')

function fail(text) {
  console.error(text)
  process.exit(1)
}

function forward() {
  const [port = ''] = words.at(-1).split(':')
  const server = createServer((client) => {
    const upstream = connect(Number(KUBECTL_MASTER_PORT), '127.0.0.1')
    for (const socket of [client, upstream])
      socket.on('error', () => undefined).on('close', () => [client, upstream].forEach((each) => each.destroy()))
    client.pipe(upstream).pipe(client)
  })
  server.listen(port === '' ? 0 : Number(port), '127.0.0.1', () => {
    process.stdout.write(`Forwarding from 127.0.0.1:${server.address().port} -> 8080\n`, () =>
      appendFileSync(KUBECTL_LOG, `${process.pid} listens\n`),
    )
  })
}
