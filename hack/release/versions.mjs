// Versions in the forms that packages of other languages need. Used by set-version.mjs, verify-versions.mjs and
// release.mjs.

/** A version as npm, Helm and OCI tags accept it: no build metadata, because a tag must not contain a plus. */
export const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?$/

const DEVELOPMENT = /^(?<release>[\d.]+)-dev\.(?<commit>[0-9a-f]+)$/

/** @returns the version for Python: `0.2.0-dev.1a2b3c` is `0.2.0.dev0+1a2b3c`; every other one is unchanged. */
export function pythonVersion(version) {
  const { release, commit } = DEVELOPMENT.exec(version)?.groups ?? {}
  return release === undefined ? version : `${release}.dev0+${commit}`
}

/** @returns the version of a build that is no release: `0.2.0-dev.1a2b3c4d5e6f`. */
export const developmentVersion = (version, commit) => `${version.replace(/-.*/, '')}-dev.${commit.slice(0, 12)}`
