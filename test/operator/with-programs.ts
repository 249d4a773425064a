/** Tests that need programs of Kubernetes run where these are, and are a named skip elsewhere. */
import { describe, it } from '@jest/globals'
import { programPath } from './programs.ts'

/** Runs `define`, which describes tests, or leaves a named skip in their place. */
export function withPrograms(names: readonly string[], name: string, define: () => void): void {
  const absent = names.filter((each) => programPath(each) === undefined)
  if (absent.length === 0) define()
  else describe(name, () => it.skip(`${absent.join(', ')}: not here; make tools builds it`, () => undefined))
}

/** What a private API server and its command need. */
export const withApiServer = (name: string, define: () => void): void =>
  withPrograms(['etcd', 'kube-apiserver', 'kubectl'], name, define)
