/** Runs tests that need Kubernetes programs if these are installed, and skips them otherwise. */
import { describe, it } from '@jest/globals'
import { programPath } from './programs.ts'

/** Runs `define`, which defines tests; without the programs it defines one skipped test instead. */
export function withPrograms(names: readonly string[], name: string, define: () => void): void {
  const absent = names.filter((each) => programPath(each) === undefined)
  if (absent.length === 0) define()
  else describe(name, () => it.skip(`${absent.join(', ')}: not installed; run make tools`, () => undefined))
}

/** Needs the programs of a private API server, and kubectl. */
export const withApiServer = (name: string, define: () => void): void =>
  withPrograms(['etcd', 'kube-apiserver', 'kubectl'], name, define)
