// Creates the credentials of the cluster: a certificate authority, its certificates, and a bearer token per component.
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { API_SERVER, FOLDER, KUBECONFIG, KUBERNETES_SERVICE_IP, NODE_IP, NODE_NAME } from './paths.mjs'

/** User and groups of each component, by the names in the built-in roles of the API server. */
const USERS = {
  admin: ['admin', 'system:masters'],
  'kube-controller-manager': ['system:kube-controller-manager', 'system:masters'],
  'kube-scheduler': ['system:kube-scheduler', ''],
  'kube-proxy': ['system:kube-proxy', ''],
  kubelet: [`system:node:${NODE_NAME}`, 'system:nodes'],
}
const NAMES_OF_SERVER = [
  'DNS:kubernetes',
  'DNS:kubernetes.default',
  'DNS:kubernetes.default.svc',
  'DNS:localhost',
  `IP:${NODE_IP}`,
  `IP:${KUBERNETES_SERVICE_IP}`,
  'IP:127.0.0.1',
]
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30']

export const fileOf = (name) => `${FOLDER}/identities/${name}`
export const kubeconfigOf = (part) => (part === 'admin' ? KUBECONFIG : fileOf(`${part}.kubeconfig`))

function write(path, text) {
  writeFileSync(path, text, { mode: 0o600 })
}

/** A certificate and its key: NAME.pem, NAME.key; of itself, or of the authority. */
function certificate(name, subject, names = []) {
  const [key, pem] = [fileOf(`${name}.key`), fileOf(`${name}.pem`)]
  const by =
    name === 'ca'
      ? []
      : ['-CA', fileOf('ca.pem'), '-CAkey', fileOf('ca.key'), '-addext', 'basicConstraints=critical,CA:FALSE']
  const extension = names.length === 0 ? [] : ['-addext', `subjectAltName=${names.join(',')}`]
  execFileSync(
    'openssl',
    ['req', '-x509', ...KEY, ...by, ...extension, '-subj', subject, '-keyout', key, '-out', pem],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
}

function kubeconfig(token) {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': NODE_NAME,
    clusters: [
      {
        name: NODE_NAME,
        cluster: {
          server: API_SERVER,
          'certificate-authority-data': readFileSync(fileOf('ca.pem')).toString('base64'),
        },
      },
    ],
    users: [{ name: NODE_NAME, user: { token } }],
    contexts: [{ name: NODE_NAME, context: { cluster: NODE_NAME, user: NODE_NAME } }],
  })
}

export function makeIdentities() {
  mkdirSync(fileOf(''), { recursive: true })
  certificate('ca', '/CN=muster-cluster')
  certificate('server', '/CN=kube-apiserver', NAMES_OF_SERVER)
  certificate('kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client')
  certificate('front-proxy', '/CN=front-proxy-client')
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  write(fileOf('accounts.key'), privateKey)
  write(fileOf('accounts.pub'), publicKey)
  const tokens = Object.entries(USERS).map(([part, [user, groups]]) => {
    const token = randomUUID()
    write(kubeconfigOf(part), kubeconfig(token))
    return `${token},${user},${user},"${groups}"\n`
  })
  write(fileOf('tokens.csv'), tokens.join(''))
}
