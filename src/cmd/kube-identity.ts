/** @module cmd/kube-identity  Reads the Kubernetes API server and credentials for the commands that use a cluster. */
import { defaultIdentity, type KubeIdentity } from '../operator/kube/index.ts'
import type { SettingFault } from './settings.ts'

/** The namespace that kubectl uses when a context has none. */
export const DEFAULT_NAMESPACE = 'default'

/** Reads files and the environment; sends no request. @returns the identity, or the fault that prevents the start. */
export function readIdentity(): KubeIdentity | SettingFault {
  try {
    return defaultIdentity()
  } catch (error) {
    return { name: 'KUBECONFIG', problem: (error as Error).message }
  }
}
