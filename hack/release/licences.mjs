// The licences that a shipped package may have, as SPDX expressions. Another one is an error of `make release`: whether
// it may be distributed with Muster is a decision, which is made here.

/** Permissive licences, and the expressions of which one of them can be chosen. */
export const LICENCE_NAMES = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'])
