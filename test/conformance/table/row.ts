/**
 * @module test/conformance/table/row
 * One row of the conformance table: a single claim of the contract in this project's words, and the tests that show it.
 *
 * A row without proofs is shown by the conformance tests whose titles begin with its id. A proof is another test, given
 * by its file and a part of its title as written in the source. A row may be pending for a part that does not exist
 * yet; such rows are counted separately. table.test.ts checks all of this.
 */
export type Proof = { readonly file: string; readonly title: string } | { readonly pending: string }
export type Row = readonly [id: string, says: string, ...proofs: Proof[]]

/** A proof: the test in `file`, below `test/`, whose title contains `title`. */
export const by = (file: string, title: string): Proof => ({ file, title })
/** Marks a row whose part of the project does not exist yet. */
export const pending = (part: string): Proof => ({ pending: part })
