/** @module master/control/limits  The bounds of the control channel that are the master's own; those of the wire are in src/protocol. */

/** Sockets at once; a master serves its fleet with 10 KiB each. */
export const MAX_SOCKETS = 10_000
/** Of these, sockets that have not registered. */
export const MAX_UNREGISTERED = 1_000
/** Handshakes a second: 5,000 workers return within the minute that their backoff spreads them over. */
export const MAX_HANDSHAKES_PER_SECOND = 500

/** How long a socket that was accepted only to send a close code may take to close (D70). */
export const REFUSED_SOCKET_MS = 1_000

/** What a peer may leave unread before only the newest config_changed and drain are kept for it, and before it is dropped. */
export const SOFT_BUFFER_BYTES = 262_144
export const HARD_BUFFER_BYTES = 1_048_576
export const STUCK_MS = 30_000

/** Statistics that were read and not yet stored, per socket and in all: beyond it reading pauses, at half it goes on. */
export const MAX_UNFLUSHED_BYTES = 262_144
export const MAX_UNFLUSHED_TOTAL_BYTES = 64 * 1_048_576

/** What `register` may say of the hardware. */
export const MAX_HARDWARE_BYTES = 16_384
/** A frame without state or statistics moves `last_seen` at most this often. */
export const SEEN_EVERY_MS = 5_000
/** Sockets pinged at a time: all at once would hold up everything else. */
export const PING_SLICE = 100
export const PING_SLICE_EVERY_MS = 10
export const MAX_MISSED_PINGS = 2
/** How often peers that are late with their register, or stuck, are looked for. */
export const OVERDUE_EVERY_MS = 1_000
/** How long a stopping master waits for peers to answer its close. */
export const CLOSE_GRACE_MS = 2_000
/** Pause before states and statistics that the store refused are offered again. */
export const STORE_RETRY_MS = 1_000
