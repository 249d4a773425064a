/** @module cmd/kube-identity  Reads the Kubernetes API server and credentials for the commands that use a cluster. */
import { defaultIdentity, type KubeIdentity } from '../operator/kube/index.ts'
import type { SettingFault } from './settings.ts'

/** The namespace that kubectl uses when a context has none. */
export const DEFAULT_NAMESPACE = 'default'

type IdentityReading =
  { readonly kind: 'found'; readonly identity: KubeIdentity } | { readonly kind: 'fault'; readonly fault: SettingFault }

/** Reads files and the environment; sends no request. @returns the identity, or the fault that prevents the start. */
export function readIdentity(): IdentityReading {
  try {
    return { kind: 'found', identity: defaultIdentity() }
  } catch (error) {
    return { kind: 'fault', fault: { name: 'KUBECONFIG', problem: (error as Error).message } }
  }
}
