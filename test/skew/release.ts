/** Finds the checkout of the previous release, which `make test-skew` builds from the history of this repository. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** The folder of the previous release. */
export const PREVIOUS = execFileSync('bash', ['hack/install-release.sh', '--where'], { encoding: 'utf8' }).trim()
/** The folder of this release. */
export const CURRENT = process.cwd()

/** The settings of a process with the automations of a release. */
export const settingsOf = (checkout: string): Readonly<Record<string, string>> => ({
  SVC_AUTOMATIONS: join(checkout, 'test/e2e/automations/faulty.mjs'),
})
