/** Finds the checkout of the previous release, which `make test-skew` builds from the history of this repository. */
import { execFileSync } from 'node:child_process'

/** The folder of the previous release. */
export const PREVIOUS = execFileSync('bash', ['hack/install-release.sh', '--where'], { encoding: 'utf8' }).trim()
/** The folder of this release. */
export const CURRENT = process.cwd()
