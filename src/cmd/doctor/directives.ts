/**
 * @module cmd/doctor/directives
 * Names the directives of nginx and haproxy that decide whether the traffic of Muster passes. A complete config of
 * nginx is in the page of the master, section TLS.
 */
const DIRECTIVES = {
  upstream: { nginx: 'proxy_pass and the servers of its upstream', haproxy: 'the address of the server line' },
  route: { nginx: 'location / with proxy_pass', haproxy: 'use_backend and default_backend' },
  certificate: {
    nginx: 'ssl_certificate (the certificate, then its intermediates)',
    haproxy: 'crt of the bind line (the certificate, then its intermediates)',
  },
  upgrade: {
    nginx:
      'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; ' +
      'proxy_set_header Connection $connection_upgrade',
    haproxy: 'remove http-request del-header Upgrade or Connection, and set timeout tunnel 1h',
  },
  buffering: {
    nginx: 'proxy_buffering off, or remove proxy_ignore_headers X-Accel-Buffering',
    haproxy: 'remove option http-buffer-request and filters that compress the response',
  },
  body: {
    nginx: 'client_max_body_size 2m',
    haproxy: 'http-request deny with req.body_size or content-length must permit 1 MiB',
  },
  longPoll: { nginx: 'proxy_read_timeout 75s', haproxy: 'timeout server 75s and timeout client 75s' },
} as const

export type Topic = keyof typeof DIRECTIVES

/**
 * Returns what to set in the proxy.
 * @param product The header `Server` of its responses. haproxy sends none.
 */
export function directivesFor(topic: Topic, product?: string): string {
  const { nginx, haproxy } = DIRECTIVES[topic]
  const inNginx = `in nginx: ${nginx}`
  return product?.toLowerCase().startsWith('nginx') === true ? inNginx : `${inNginx}; in haproxy: ${haproxy}`
}
