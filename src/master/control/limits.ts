/** @module master/control/limits  The limits of the control channel. Those of the wire protocol are in src/protocol. */

/** Bytes that a client may send before the response to its upgrade. A WebSocket client sends none (RFC 6455). */
export const MAX_EARLY_BYTES = 4_096
export const EARLY_DATA = 'send nothing before the response to the upgrade'

/** How long a socket that was accepted only to send a close code may take to close (D70). */
export const REFUSED_SOCKET_MS = 1_000

/**
 * Unread bytes of a peer: above the first limit only the newest frames are kept for it, above the second it is cut off.
 */
export const SOFT_BUFFER_BYTES = 262_144
export const HARD_BUFFER_BYTES = 1_048_576
export const STUCK_MS = 30_000

/** Statistics that are not stored yet, per socket and in total. Reading pauses above the limit and resumes at half. */
export const MAX_UNFLUSHED_BYTES = 262_144
export const MAX_UNFLUSHED_TOTAL_BYTES = 64 * 1_048_576

/** The limit of `hardware` in `register`. */
export const MAX_HARDWARE_BYTES = 16_384
/** A frame without state or statistics moves `last_seen` at most this often. */
export const SEEN_EVERY_MS = 5_000
/** Reports of a type that change no state are stored at most this often, by one call for all of them. */
export const GROUP_REPORTS_MS = 1_000
/** Sockets pinged at a time. Pinging all of them together would delay everything else. */
export const PING_SLICE = 100
export const PING_SLICE_EVERY_MS = 10
export const MAX_MISSED_PINGS = 2
/** How often peers are checked for a late register and for unread bytes. */
export const OVERDUE_EVERY_MS = 1_000
/** How long a stopping master waits for peers to respond to its close. */
export const CLOSE_GRACE_MS = 2_000
/** Pause before rejected states and statistics are sent to the store again. */
export const STORE_RETRY_MS = 1_000
/** How often what workers did under their revisions is added to the store (D138). A crash loses at most this. */
export const TALLIES_EVERY_MS = 5_000
