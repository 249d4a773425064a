/** @module runtime/control-characters  Finds characters that could forge a line of a log or of a table. */

// oxlint-disable-next-line no-control-regex -- Control characters are what it finds.
export const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g

/** Finds several in a row as one. */
export const CONTROL_RUNS = new RegExp(`${CONTROLS.source}+`, 'g')
