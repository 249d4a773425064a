/**
 * @module test/conformance/table/row
 * One row of the conformance table: a single claim of the contract, in our words, and the tests that show it.
 *
 * A row without proofs is shown by the conformance tests whose titles begin with its id. A proof is a test elsewhere, by
 * its file and a part of its title, as both stand in the source. A row may be pending instead, for a part that is still
 * to come; it is counted apart. table.test.ts checks all of it.
 */
export type Proof = { readonly file: string; readonly title: string } | { readonly pending: string }
export type Row = readonly [id: string, says: string, ...proofs: Proof[]]

/** The test of `file`, below `test/`, whose title holds `title`. */
export const by = (file: string, title: string): Proof => ({ file, title })
/** Not there yet: `part` is still to come. */
export const pending = (part: string): Proof => ({ pending: part })
