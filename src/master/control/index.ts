/** The control channel: the WebSockets of the workers. */
export { createControl, type Control } from './control.ts'
export type { LogQuery, LogReadResult } from './log-reads.ts'
export type { AcceptedSocket } from './control-socket.ts'
export { StartupUpgrades } from './startup-upgrades.ts'
