// Writes a folder for kustomize that installs KEDA: its own definitions, roles and Deployments, with the images of the
// node. Its admission webhooks are left out, since they only check ScaledObjects. Used by up.mjs.
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { FOLDER } from './paths.mjs'

/** Folder of the installation. */
const KEDA = `${FOLDER}/keda`
const PARTS = ['crd', 'general', 'rbac', 'manager', 'metrics-server', 'service_account']

/** A patch of the only container of a Deployment. */
const patch = (name, operations) => ({
  target: { kind: 'Deployment', name },
  patch: JSON.stringify([
    { op: 'replace', path: '/spec/template/spec/containers/0/imagePullPolicy', value: 'IfNotPresent' },
    // The images of a node have no users by name.
    { op: 'add', path: '/spec/template/spec/containers/0/securityContext/runAsUser', value: 65532 },
    ...operations,
  ]),
})
const command = (program) => ({
  op: 'replace',
  path: '/spec/template/spec/containers/0/command',
  value: [`/usr/local/bin/${program}`],
})
const argument = (value) => ({ op: 'add', path: '/spec/template/spec/containers/0/args/-', value })

/** @param home folder of the programs, which also has the configuration of their release. */
export function writeKeda(home) {
  mkdirSync(KEDA, { recursive: true })
  const kustomization = {
    resources: PARTS.map((part) => relative(realpathSync(KEDA), `${home}/config/${part}`)),
    images: [
      { name: 'ghcr.io/kedacore/keda', newName: 'localhost/keda-operator', newTag: 'cluster' },
      { name: 'ghcr.io/kedacore/keda-metrics-apiserver', newName: 'localhost/keda-adapter', newTag: 'cluster' },
    ],
    patches: [
      patch('keda-operator', [command('keda-operator'), argument('--enable-webhook-patching=false')]),
      patch('keda-metrics-apiserver', [command('keda-adapter')]),
    ],
  }
  writeFileSync(`${KEDA}/kustomization.yaml`, JSON.stringify(kustomization))
}
